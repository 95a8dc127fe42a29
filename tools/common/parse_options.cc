// Arguments and environment into Options, by way of the option table; CLI11 splits the arguments.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include <CLI/CLI.hpp>

#include "tools/common/options.h"
#include "tools/common/words.h"

namespace prenorm::tools {
namespace {

constexpr char kTextMark = '\x1F';  // Behind an argument in brackets on its way through CLI11.

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool IsSwitch(const OptionSpec& spec) { return std::holds_alternative<bool Options::*>(spec.field); }

// Every name under which an option is understood: those of the table, and long ones with '_' as
// Hugging Face writes them.
std::vector<std::string> AllNames(const OptionSpec& spec) {
  std::vector<std::string> names = Split(spec.names, ',');
  for (const std::string& alias : Split(spec.aliases, ',')) names.push_back(alias);
  for (size_t i = 0, n = names.size(); i < n; ++i) {
    std::string underscored = names[i];
    if (underscored.size() < 3 || underscored[0] != '-') continue;
    std::replace(underscored.begin() + 2, underscored.end(), '-', '_');
    if (underscored != names[i]) names.push_back(underscored);
  }
  return names;
}

Status Usage(const std::string& what, const std::string& where, const std::string& action) {
  return Status(StatusCode::kInvalidArgument, what + "\n" + where + "\n" + action);
}

// Sets a field from text; false if the text is no value of its type.
struct SetField {
  Options& options;
  const std::string& text;

  template <typename Number>
  bool ParseNumber(Number& out) const {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, out);
    return error == std::errc() && stop == end;
  }
  bool operator()(bool Options::*field) const {
    options.*field = text != "0" && text != "false" && !text.empty();
    return true;
  }
  bool operator()(int64_t Options::*field) const { return ParseNumber(options.*field); }
  bool operator()(double Options::*field) const { return ParseNumber(options.*field); }
  bool operator()(std::string Options::*field) const {
    options.*field = text;
    return true;
  }
  bool operator()(std::optional<std::string> Options::*field) const {
    options.*field = text;
    return true;
  }
  bool operator()(std::optional<uint64_t> Options::*field) const {
    uint64_t value = 0;
    if (!ParseNumber(value)) return false;
    options.*field = value;
    return true;
  }
  bool operator()(std::vector<std::string> Options::*field) const {
    (options.*field).push_back(text);
    return true;
  }
};

const char* TypeName(const Field& field) {
  if (std::holds_alternative<int64_t Options::*>(field)) return "a whole number";
  if (std::holds_alternative<double Options::*>(field)) return "a number";
  return "a whole number from 0 to 2^64 - 1";
}

Status Assign(const OptionSpec& spec, const std::string& name, const std::string& text, Options& options) {
  if (spec.choices[0] != '\0') {
    const std::vector<std::string> choices = Split(spec.choices, '|');
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      return Usage("An option has a value that it does not know.",
                   name + ": expected " + spec.choices + ", found '" + text + "'", "Choose one of these.");
    }
  }
  // In Options such a text is empty where nobody gave it.
  if (text.empty() && std::holds_alternative<std::string Options::*>(spec.field)) {
    return Usage("An option has no value.", name + ": expected a value, found an empty text",
                 "Give one, or leave it out.");
  }
  if (std::visit(SetField{options, text}, spec.field)) return Status();
  return Usage("An option has a value of the wrong kind.",
               name + ": expected " + TypeName(spec.field) + ", found '" + text + "'", "Give such a value.");
}

Status UnknownOption(const std::string& argument, Command command, std::string_view command_name) {
  const std::string word = argument.substr(0, argument.find('='));
  std::vector<std::string> own;
  for (const OptionSpec& spec : OptionTable()) {
    const std::vector<std::string> names = AllNames(spec);
    if ((spec.commands & command) != 0) own.insert(own.end(), names.begin(), names.end());
  }
  const std::string near = DidYouMean(word, own);
  const std::string help = "See: prenorm " + std::string(command_name) + " --help";
  const bool option = word.starts_with('-') && word.size() > 1;
  const std::string what = option ? "There is no such option here." : "There is one argument too many.";
  return Usage(what, "prenorm " + std::string(command_name) + ": '" + word + "'",
               near.empty() ? help : "Did you mean " + near + "? " + help);
}

}  // namespace

Result<ParsedOptions> ParseOptions(Command command, std::string_view command_name, int argc, const char* const* argv) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<const OptionSpec*, CLI::Option*>> bound;
  for (const OptionSpec& spec : OptionTable()) {
    if ((spec.commands & command) == 0) continue;
    std::string names;
    for (const std::string& name : AllNames(spec)) names += (names.empty() ? "" : ",") + name;
    CLI::Option* option = nullptr;
    if (IsSwitch(spec)) {
      option = app.add_flag(names);
    } else {
      // The empty function: the values are taken from results() below, by the types of the table.
      option = app.add_option(names, [](const CLI::results_t&) { return true; });
      option->type_name(spec.value);
      option->multi_option_policy(IsList(spec) ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
      if (IsList(spec) && IsPositional(spec)) option->expected(1, 64)->allow_extra_args();
    }
    bound.emplace_back(&spec, option);
  }

  std::vector<std::string> reversed;
  for (int i = 0; i < argc; ++i) {
    reversed.emplace_back(argv[i]);
    // CLI11 takes "[a,b]" for a list of its own; here it is a text.
    if (reversed.back().starts_with('[') && reversed.back().ends_with(']')) reversed.back() += kTextMark;
    // CLI11 takes "--name=" for an option without a value; it means an empty one.
    if (std::string& last = reversed.back();
        last.size() > 3 && last.starts_with("--") && last.find('=') == last.size() - 1) {
      last.pop_back();
      reversed.emplace_back();
    }
  }
  std::reverse(reversed.begin(), reversed.end());  // CLI11 takes arguments from the back.
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    const std::string what = error.what(), missing = ": 1 required ";  // "--prompt: 1 required TEXT missing"
    if (const size_t at = what.find(missing); at != std::string::npos) {
      const size_t begin = at + missing.size();
      return Usage(
          "An option has no value.",
          what.substr(0, at) + ": expected " + what.substr(begin, what.find(' ', begin) - begin) + ", found none",
          "See: prenorm " + std::string(command_name) + " --help");
    }
    return Usage("The arguments could not be understood.", "prenorm " + std::string(command_name) + ": " + error.what(),
                 "See: prenorm " + std::string(command_name) + " --help");
  }
  if (const std::vector<std::string> extras = app.remaining(); !extras.empty()) {
    return UnknownOption(extras.front(), command, command_name);
  }

  ParsedOptions parsed;
  for (const auto& [spec, option] : bound) {
    parsed.origins[spec] = Origin::kBuiltIn;
    const std::string name = IsPositional(*spec) ? spec->names : "--" + OptionName(*spec);
    if (option->count() > 0) {
      parsed.origins[spec] = Origin::kFlag;
      std::vector<std::string> values = option->results();
      for (std::string& value : values) {
        if (value.ends_with(kTextMark)) value.pop_back();
      }
      if (!IsList(*spec)) values = {values.back()};
      for (const std::string& value : values) {
        if (Status status = Assign(*spec, name, value, parsed.options); !status.ok()) return status;
      }
    } else if (const char* value = spec->environment[0] != '\0' ? std::getenv(spec->environment) : nullptr;
               value != nullptr && *value != '\0') {
      parsed.origins[spec] = Origin::kEnvironment;
      if (Status status = Assign(*spec, spec->environment, value, parsed.options); !status.ok()) return status;
    }
  }
  return parsed;
}

const char* OriginName(Origin origin) {
  switch (origin) {
    case Origin::kFlag:
      return "flag";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kModel:
      return "model";
    case Origin::kBuiltIn:
      return "built-in";
  }
  return "unknown";
}

bool IsList(const OptionSpec& spec) { return std::holds_alternative<std::vector<std::string> Options::*>(spec.field); }

bool IsPositional(const OptionSpec& spec) { return spec.names[0] != '-'; }

std::string OptionName(const OptionSpec& spec) {
  if (IsPositional(spec)) {
    std::string name = spec.names;
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name;
  }
  const std::string last = Split(spec.names, ',').back();
  return last.substr(std::min(last.find_first_not_of('-'), last.size()));
}

std::string ValueText(const OptionSpec& spec, const Options& options) {
  struct Printer {
    const Options& o;
    std::string operator()(bool Options::*f) const { return o.*f ? "on" : "off"; }
    std::string operator()(int64_t Options::*f) const { return std::to_string(o.*f); }
    std::string operator()(double Options::*f) const {
      std::ostringstream out;
      out << o.*f;
      return out.str();
    }
    std::string operator()(std::string Options::*f) const { return o.*f; }
    std::string operator()(std::optional<std::string> Options::*f) const { return (o.*f).value_or(""); }
    std::string operator()(std::optional<uint64_t> Options::*f) const { return o.*f ? std::to_string(*(o.*f)) : ""; }
    std::string operator()(std::vector<std::string> Options::*f) const {
      std::string joined;
      for (const std::string& text : o.*f) joined += (joined.empty() ? "" : ", ") + text;
      return joined;
    }
  };
  return std::visit(Printer{options}, spec.field);
}

}  // namespace prenorm::tools
