// Writes man pages and completions into a folder: prenorm_write_docs FOLDER, which has a folder man1.
#include <cstdio>
#include <fstream>
#include <string>

#include "tools/docs/docs.h"

int main(int argc, char** argv) {
  using namespace prenorm::tools;  // NOLINT(google-build-using-namespace): one function.
  if (argc != 2) return std::fputs("usage: prenorm_write_docs FOLDER\n", stderr), 2;
  const std::string folder = std::string(argv[1]) + "/", version = PRENORM_VERSION;
  bool ok = true;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream file(folder + name, std::ios::binary);
    ok = static_cast<bool>(file << text << std::flush) && ok;
  };
  write("prenorm.bash", BashCompletion());
  write("_prenorm", ZshCompletion());
  write("prenorm.fish", FishCompletion());
  write("man1/prenorm.1", OverviewManPage(version));
  for (const CommandInfo& info : CommandTable()) {
    write(std::string("man1/prenorm-") + info.name + ".1", CommandManPage(info, version));
  }
  return ok ? 0 : 1;
}
