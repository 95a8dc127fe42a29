// Each limit, reached and exceeded; and templates made to exhaust a host.
#include "runtime/chat_template/template.h"

#include <ctime>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/lexer.h"
#include "runtime/chat_template/parser.h"
#include "tests/support/small_stack.h"

namespace prenorm::chat_template {
namespace {

Status StatusOf(const std::string& source, const Limits& limits = {}, std::string_view arguments = "") {
  const Result<Template> chat = Template::Compile(source, limits);
  if (!chat.ok()) return chat.status();
  TemplateInput input;
  input.arguments = arguments;
  return chat->Render(input).status();
}

void ExpectLimit(const Status& status, const std::string& what) {
  EXPECT_EQ(status.code(), StatusCode::kTemplate);
  EXPECT_NE(status.message().find("breaks a limit"), std::string::npos) << what << ": " << status.message();
  EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
}

std::string Times(size_t count, const std::string& text) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// What a rendering that asks for `use` is told; "" where it has room.
template <class Use>
std::string Told(Budget& budget, const Use& use) {
  try {
    use(budget);
    return "";
  } catch (const TemplateError& error) {
    return error.what();
  }
}

// What a template needs of each depends on how it is evaluated; that the limits themselves are exact is shown here.
TEST(ChatTemplateLimitsTest, ABudgetIsUsedUpToItsLimit) {
  const Limits limits;
  Budget steps(limits), work(limits), depth(limits);
  EXPECT_EQ(Told(steps, [&](Budget& budget) { budget.Step(limits.steps); }), "");
  EXPECT_EQ(Told(steps, [](Budget& budget) { budget.Step(); }), "the template needs more than 4194304 steps");
  EXPECT_EQ(Told(work, [&](Budget& budget) { budget.Work(limits.work_bytes); }), "");
  EXPECT_EQ(Told(work, [](Budget& budget) { budget.Work(1); }),
            "the template needs more than 1073741824 bytes of strings and lists");
  const auto nest = [](size_t levels) {
    return [levels](Budget& budget) {
      const auto enter = [&](size_t left, const auto& again) -> void {
        const Budget::Nested level(budget);
        if (left > 1) again(left - 1, again);
      };
      enter(levels, enter);
    };
  };
  EXPECT_EQ(Told(depth, nest(limits.depth)), "");
  EXPECT_EQ(Told(depth, nest(limits.depth + 1)), "the template needs more than 400 evaluations inside each other");
  EXPECT_EQ(Told(depth, nest(limits.depth)), "") << "what was left is not counted on";
}

TEST(ChatTemplateLimitsTest, TemplateBytes) {
  Limits limits;
  limits.template_bytes = 10;
  EXPECT_TRUE(StatusOf("0123456789", limits).ok());
  ExpectLimit(StatusOf("0123456789a", limits), "longer than 10 bytes");
}

TEST(ChatTemplateLimitsTest, NestingInTheSource) {
  const Limits limits;
  // Each bracket is a level of parsing for the expression and one for its operand; the template's body is one.
  const auto brackets = [](size_t n) { return "{{ " + Times(n, "(") + "1" + Times(n, ")") + " }}"; };
  const size_t deepest = (limits.nesting - 1) / 2 - 1;
  EXPECT_TRUE(StatusOf(brackets(deepest)).ok());
  ExpectLimit(StatusOf(brackets(deepest + 2)), "nests deeper than 100 levels");
  // The name is a level, each attribute one more, and the operator around them.
  const auto attributes = [](size_t n) { return "{{ 1 or a" + Times(n, ".a") + " }}"; };
  EXPECT_TRUE(StatusOf(attributes(limits.nesting - 2)).ok());
  ExpectLimit(StatusOf(attributes(limits.nesting - 1)), "nests deeper than 100 levels");
  ExpectLimit(StatusOf("{{ " + Times(100000, "(") + Times(100000, ")") + " }}"), "nests deeper");
  ExpectLimit(StatusOf("{{ " + Times(100000, "[") + Times(100000, "]") + " }}"), "nests deeper");
  ExpectLimit(StatusOf("{{ " + Times(100000, "{1:") + Times(100000, "}") + " }}"), "nests deeper");
  ExpectLimit(StatusOf("{{ " + Times(100000, "-") + "1 }}"), "nests deeper");
  ExpectLimit(StatusOf("{{ " + Times(100000, "not ") + "1 }}"), "nests deeper");
  ExpectLimit(StatusOf("{{ a" + Times(100000, ".a") + " }}"), "nests deeper");
  ExpectLimit(StatusOf("{{ a" + Times(100000, "[0]") + " }}"), "nests deeper");
  ExpectLimit(StatusOf("{{ a" + Times(100000, "()") + " }}"), "nests deeper");
  ExpectLimit(StatusOf("{{ a" + Times(50000, "|trim") + " }}"), "nests deeper");
  ExpectLimit(StatusOf("{{ a" + Times(50000, " if a else a") + " }}"), "nests deeper");
  ExpectLimit(StatusOf(Times(50000, "{% if a %}")), "nests deeper");
  ExpectLimit(StatusOf("{% set " + Times(100000, "(") + Times(100000, ")") + " %}"), "nests deeper");
  EXPECT_TRUE(StatusOf("{{ 1" + Times(10000, " + 1") + " }}").ok()) << "a chain of one operator is one level";
  EXPECT_TRUE(StatusOf("{% if false %}" + Times(10000, "{% elif false %}") + "{% endif %}").ok());
}

TEST(ChatTemplateLimitsTest, DepthOfEvaluation) {
  const auto recurse = [](int n) {
    return "{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(" + std::to_string(n) + ") }}";
  };
  EXPECT_TRUE(StatusOf(recurse(50)).ok()) << StatusOf(recurse(50)).message();
  ExpectLimit(StatusOf(recurse(1000)), "evaluations inside each other");
  ExpectLimit(StatusOf("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "evaluations inside each other");
  ExpectLimit(StatusOf("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"), "evaluations inside each other");
  ExpectLimit(StatusOf("{{ ['a'] | map(" + Times(1000, "'map', ") + "'upper') | list }}"),
              "evaluations inside each other");
}

TEST(ChatTemplateLimitsTest, Steps) {
  Limits limits;
  limits.steps = 1000;
  EXPECT_TRUE(StatusOf("{% for i in range(100) %}{% endfor %}", limits).ok());
  ExpectLimit(StatusOf("{% for i in range(1000) %}{% endfor %}", limits), "1000 steps");
  const std::string loop = "{% for i in range(999) %}";
  limits.steps = 20000;
  ExpectLimit(StatusOf(loop + loop + loop + "{% endfor %}{% endfor %}{% endfor %}", limits), "20000 steps");
}

TEST(ChatTemplateLimitsTest, Slices) {
  ExpectLimit(StatusOf("{{ [] | slice(9999999999) | list }}"), "slices");
  EXPECT_TRUE(StatusOf("{{ ('a' * 1000000) | wordwrap(10) | length }}").ok()) << "linear in the text";
}

TEST(ChatTemplateLimitsTest, BytesOfWork) {
  Limits limits;
  limits.work_bytes = 10000;
  EXPECT_TRUE(StatusOf("{% set x = 'a' * 4000 %}", limits).ok());
  ExpectLimit(StatusOf("{% set x = 'a' * 4000 %}{% set y = x + x + x %}", limits), "bytes of strings and lists");
  ExpectLimit(
      StatusOf("{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
               limits),
      "bytes of strings and lists");
}

TEST(ChatTemplateLimitsTest, BytesOfOneString) {
  Limits limits;
  limits.string_bytes = 100;
  EXPECT_TRUE(StatusOf("{{ 'a' * 100 }}", limits).ok());
  ExpectLimit(StatusOf("{{ 'a' * 101 }}", limits), "100 bytes in one string");
  ExpectLimit(StatusOf("{{ 'ab' * 4611686018427387904 }}"), "bytes in one string");
  ExpectLimit(StatusOf("{{ ('a' * 50).replace('', 'bbbbbbbbbbbbbbbb') }}", limits), "100 bytes in one string");
  ExpectLimit(StatusOf("{{ 'a'.center(99999999999) }}"), "");
}

TEST(ChatTemplateLimitsTest, WidthOfAField) {
  for (const char* field : {"{{ '%WIDTHd' % 1 }}", "{{ '%.WIDTHf' % 1 }}", "{{ '{:WIDTH}'.format(1) }}"}) {
    const auto of_width = [&](size_t width) {
      std::string source = field;
      return source.replace(source.find("WIDTH"), 5, std::to_string(width));
    };
    EXPECT_TRUE(StatusOf(of_width(kMaxFieldWidth)).ok()) << field << StatusOf(of_width(kMaxFieldWidth)).message();
    ExpectLimit(StatusOf(of_width(kMaxFieldWidth + 1)), "10000 characters in a field");
  }
}

TEST(ChatTemplateLimitsTest, BytesOfOutput) {
  Limits limits;
  limits.output_bytes = 100;
  EXPECT_TRUE(StatusOf("{% for i in range(10) %}0123456789{% endfor %}", limits).ok());
  ExpectLimit(StatusOf("{% for i in range(10) %}0123456789{% endfor %}!", limits), "100 bytes of output");
}

TEST(ChatTemplateLimitsTest, ItemsOfARange) {
  EXPECT_TRUE(StatusOf("{{ range(100000) | length }}").ok());
  ExpectLimit(StatusOf("{{ range(100001) | length }}"), "100000 items in a range");
  ExpectLimit(StatusOf("{{ range(-9223372036854775807, 9223372036854775807) }}"), "items in a range");
}

TEST(ChatTemplateLimitsTest, DepthOfValues) {
  const auto nest = [](int n) {
    return "{% set ns = namespace(x=[]) %}{% for i in range(" + std::to_string(n) +
           ") %}{% set ns.x = [ns.x] %}{% endfor %}";
  };
  EXPECT_TRUE(StatusOf(nest(99)).ok());
  ExpectLimit(StatusOf(nest(100)), "lists inside each other");
  ExpectLimit(StatusOf("{% set ns = namespace(x=1) %}{% for i in range(1000) %}{% set ns.x = {1: ns.x} %}{% endfor %}"),
              "dicts");
  const auto json = [](size_t n) { return "{\"a\": " + Times(n, "[") + Times(n, "]") + "}"; };
  EXPECT_TRUE(StatusOf("{{ a }}", {}, json(98)).ok());
  ExpectLimit(StatusOf("{{ a }}", {}, json(101)), "inside each other");
  EXPECT_FALSE(StatusOf("{{ a }}", {}, json(100000)).ok());
}

TEST(ChatTemplateLimitsTest, SharedAndCyclicValuesEnd) {
  const std::string doubling =
      "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}"
      "{% set ns.y = [ns.y, ns.y] %}{% endfor %}";
  Limits limits;
  limits.steps = 100000;
  ExpectLimit(StatusOf(doubling + "{{ ns.x }}", limits), "steps");
  ExpectLimit(StatusOf(doubling + "{{ ns.x == ns.y }}", limits), "steps");
  ExpectLimit(StatusOf(doubling + "{{ ns.x | tojson }}", limits), "steps");
  EXPECT_TRUE(
      StatusOf("{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.l = [ns] %}{{ ns.me.me.l[0].x }}").ok());
  EXPECT_TRUE(StatusOf("{% set ns = namespace() %}{% macro m() %}{{ ns.m }}{% endmacro %}{% set ns.m = m %}").ok());
}

// On a stack that holds no recursion along the chain.
TEST(ChatTemplateLimitsTest, LongChainsAreFreedWithoutRecursion) {
  const auto chain = [](const std::string& link, const std::string& before = "") {
    return before + "{% set ns = namespace(x=1) %}{% for i in range(30000) %}" + link + "{% endfor %}";
  };
  const std::string sources[] = {
      chain("{% set n = namespace(x=ns.x) %}{% set ns.x = n %}"),
      chain("{% set y = ns.x %}{% macro m() %}{{ y }}{% endmacro %}{% set ns.x = m %}"),
      chain("{% with y = ns.x %}{% macro m() %}{{ y }}{% endmacro %}{% set ns.x = m %}{% endwith %}"),
      chain("{% macro m(y=ns.x) %}{% macro k() %}{{ y }}{% endmacro %}{% set ns.x = k %}{% endmacro %}{{ m() }}"),
      chain("{% set y = ns.x %}{% call keep() %}{{ y }}{% endcall %}",
            "{% macro keep() %}{% set ns.x = caller %}{% endmacro %}"),
      chain("{% set y = ns.x %}{% for z in [1] recursive %}{% set ns.x = loop %}{% endfor %}"),
      chain("{% for z in [1] %}{% if loop.changed(ns.x) %}{% endif %}{% set ns.x = loop %}{% endfor %}"),
      chain("{% for z in [1] %}{% if loop.changed(ns.x) %}{% endif %}{% set ns.x = loop.changed %}{% endfor %}"),
  };
  for (const std::string& source : sources) {
    RunOnStack(512 * 1024, [&] {
      const Status status = StatusOf(source);
      EXPECT_TRUE(status.ok()) << source << status.message();
    });
  }
}

// None of these makes much, but each looks at much, again and again.
TEST(ChatTemplateLimitsTest, ReadingCosts) {
  const std::string texts =
      "{% set s = ('a' * 1000) * 1000 %}{% set t = ('a' * 1000) * 1000 %}{% set half = ('a' * 500) * 1000 + 'b' %}"
      "{% set d = {'k': 1} %}{% set ns = namespace(key=('k',)) %}"
      "{% for i in range(14) %}{% set ns.key = (ns.key, ns.key) %}{% endfor %}";
  Limits limits;
  limits.work_bytes = uint64_t{1} << 24;
  limits.steps = 50000;
  for (const char* expression : {"s == t",
                                 "s < t",
                                 "s in d",
                                 "d[s]",
                                 "d.get(s)",
                                 "d | attr(s)",
                                 "d[ns.key]",
                                 "half in s",
                                 "s.find(half)",
                                 "s.rfind(half)",
                                 "s.count(half)",
                                 "s.split(half)",
                                 "s.rsplit(half)",
                                 "s.replace(half, '')",
                                 "s.partition(half)",
                                 "s.strip(half)",
                                 "s | trim(half)",
                                 "s.startswith('b', 1)",
                                 "s.startswith(t)",
                                 "s.removeprefix('a')",
                                 "s | length",
                                 "s | wordcount",
                                 "s is upper",
                                 "s.istitle()",
                                 "s | int",
                                 "s | float",
                                 "s | safe",
                                 "s | truncate(10)",
                                 "s | striptags",
                                 "1 | tojson(indent=s)",
                                 "s[-1000000]",
                                 "s % ()",
                                 "s.format()"}) {
    ExpectLimit(
        StatusOf(texts + "{% for i in range(10000) %}{% if " + expression + " %}{% endif %}{% endfor %}", limits),
        "the template needs more than");
  }
  EXPECT_TRUE(
      StatusOf(texts + "{% for i in range(10000) %}{{ s[0] }}{{ s[-1] }}{{ s.endswith('b') }}{% endfor %}").ok())
      << "what is near an end is found there";
  limits.steps = 200000;
  std::string names;
  for (int i = 0; i < 3000; ++i) names += "{% set a" + std::to_string(i) + " = 1 %}";
  ExpectLimit(StatusOf(names + "{% for i in range(10000) %}{{ b }}{% endfor %}", limits), "steps");
  const std::string members = "{% set d = dict((range(3000) | join(' ')).split(' ') | batch(2)) %}";
  limits.steps = 100000;
  EXPECT_TRUE(StatusOf(members + "{% set n = namespace(**d) %}", limits).ok());
  ExpectLimit(StatusOf(members + "{% for i in range(9) %}{% set n = namespace(**d) %}{% endfor %}", limits), "steps");
}

/// Tells when nothing holds it any longer.
class Witness : public Object {
 public:
  explicit Witness(bool* freed) : freed_(freed) {}
  ~Witness() override { *freed_ = true; }
  const char* type_name() const override { return "Witness"; }

 private:
  bool* freed_;
};

TEST(ChatTemplateLimitsTest, CyclesAreFreed) {
  for (const char* source : {
           "{% for x in [witness] %}{{ loop.changed(loop) }}{% endfor %}",
           "{% for x in [witness] recursive %}{{ loop.changed([loop.changed]) }}{% endfor %}",
           "{% for x in [witness] %}{{ loop.changed(1) }}{{ loop.changed(loop) }}{{ missing.x }}{% endfor %}",
           "{% set ns = namespace(w=witness) %}{% set ns.me = ns %}{{ ns.me.me is defined }}",
           "{% set ns = namespace(w=witness) %}{% macro m() %}{{ ns }}{% endmacro %}{% set ns.m = m %}{{ 1 }}",
       }) {
    bool freed = false;
    Budget budget{Limits()};
    const Body body = Parser(Tokenize(source), budget.limits()).ParseTemplate();
    try {
      Interpreter interpreter(budget, std::tm());
      interpreter.SetVariable("witness", Value(ObjectPtr(std::make_shared<Witness>(&freed))));
      EXPECT_NE(interpreter.Run(body).size(), 0u);
    } catch (const TemplateError&) {  // Frees as much.
    }
    EXPECT_TRUE(freed) << source;
  }
}

}  // namespace
}  // namespace prenorm::chat_template
