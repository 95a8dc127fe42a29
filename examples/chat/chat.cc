// A conversation whose answers appear as they are made: the C++ layer over the C interface.
#include <iostream>
#include <prenorm/prenorm.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) return std::cerr << "usage: chat MODEL\n", 2;
  const prenorm::api::Model model = prenorm::api::Model::Load(argv[1]);
  prenorm::api::Session session(model);
  prenorm::api::GenerateOptions options;
  options.temperature = 0.6f;
  options.top_p = 0.9f;
  options.max_new_tokens = 400;

  std::vector<prenorm::api::Message> messages;
  for (std::string line; std::cout << "> " << std::flush && std::getline(std::cin, line);) {
    messages.push_back({"user", line});
    const auto print = [](std::string_view text, int32_t) {
      return static_cast<bool>(std::cout << text << std::flush);
    };
    // The whole conversation is passed each time; what the session holds of it is not computed again.
    messages.push_back({"assistant", session.Chat(messages, options, print).text});
    std::cout << '\n';
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
