// docs/normalization.md: every statement names the test that shows it, and every test, file and heading named exists.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace prenorm {
namespace {

const std::filesystem::path kSource = PRENORM_SOURCE_DIR;
const std::filesystem::path kPage = kSource / "docs" / "normalization.md";

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// "Suite.Name" of every TEST and TEST_P below tests/.
std::set<std::string> AllTests() {
  static const std::regex pattern(R"(\bTEST(?:_P|_F)?\((\w+),\s*(\w+)\))");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = ReadText(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
      names.insert((*it)[1].str() + "." + (*it)[2].str());
    }
  }
  return names;
}

// `Suite.Name` in backticks, * standing for anything; `.Name` is of the suite named last. In order of appearance.
std::vector<std::string> NamedTests(const std::string& text) {
  static const std::regex pattern(R"(`([\w*]*Test)?\.([A-Z*][\w*]*)`)");
  std::vector<std::string> names;
  std::string suite;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    if ((*it)[1].matched) suite = (*it)[1].str();
    names.push_back(suite + "." + (*it)[2].str());
  }
  return names;
}

bool Exists(const std::string& name, const std::set<std::string>& tests) {
  std::string pattern;
  for (const char c : name) pattern += c == '*' ? std::string(".*") : c == '.' ? std::string("\\.") : std::string(1, c);
  const std::regex regex(pattern);
  for (const std::string& test : tests) {
    if (std::regex_match(test, regex)) return true;
  }
  return false;
}

TEST(NormalizationDocTest, EveryTestThatThePageNamesExists) {
  const std::set<std::string> tests = AllTests();
  const std::vector<std::string> named = NamedTests(ReadText(kPage));
  EXPECT_GT(named.size(), 40u);
  for (const std::string& name : named)
    EXPECT_TRUE(Exists(name, tests)) << name << " is named, but there is no such test";
  EXPECT_FALSE(Exists("RmsNormTest.NoSuchTest", tests));
}

TEST(NormalizationDocTest, EveryFileThatThePageLinksExists) {
  static const std::regex pattern(R"(\]\(([^)#]+)[^)]*\))");
  const std::string text = ReadText(kPage);
  size_t links = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it, ++links) {
    EXPECT_TRUE(std::filesystem::exists(kPage.parent_path() / (*it)[1].str())) << (*it)[1];
  }
  EXPECT_GE(links, 5u);
}

// Rows of tables with a column "shown by", and points of the lists under the headings that state how things are.
TEST(NormalizationDocTest, EveryStatementNamesItsTest) {
  static const std::set<std::string> kStatements = {"## Formulas", "## What never folds", "## Numbers"};
  std::string heading, point;
  bool in_table = false;
  size_t statements = 0;
  const auto finish_point = [&] {
    if (!point.empty()) {
      EXPECT_FALSE(NamedTests(point).empty()) << "names no test: " << point;
      ++statements;
    }
    point.clear();
  };
  for (const std::string& line : LinesOf(ReadText(kPage))) {
    if (line.starts_with("#")) {
      finish_point();
      heading = line;
    } else if (line.starts_with("|")) {
      if (line.find("shown by |") != std::string::npos) {
        in_table = true;
      } else if (in_table && !line.starts_with("|---")) {
        EXPECT_NE(line.find("Test.", line.rfind('|', line.size() - 2)), std::string::npos) << "names no test: " << line;
        ++statements;
      }
    } else {
      in_table = false;
      const bool states = kStatements.contains(heading);
      if (line.starts_with("- ") || line.empty()) finish_point();
      if (states && (line.starts_with("- ") || !point.empty())) point += line + "\n";
    }
  }
  finish_point();
  EXPECT_GT(statements, 30u);
}

}  // namespace
}  // namespace prenorm
