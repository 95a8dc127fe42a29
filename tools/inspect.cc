// Lays out what a model file holds, as a table or as JSON.
#include "tools/inspect.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/common/errors.h"

namespace prenorm::tools {
namespace {

using Row = std::vector<std::string>;

std::string BytesText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < std::size(kUnits); ++unit) value /= 1024.0;
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, " ");
  return text;
}

std::string FloatText(float value) {
  char text[32];  // The shortest decimal that reads back as the same f32.
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text;
  for (const uint64_t extent : shape) text.append(text.empty() ? "" : " x ").append(std::to_string(extent));
  return text.empty() ? "scalar" : text;
}

// One line of at most `limit` bytes, cut at a character, with control characters shown as escapes.
std::string OneLine(const std::string& text, size_t limit) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (line.size() >= limit && (byte & 0xC0) != 0x80) return line + " ...";
    line += c == '\n' ? "\\n" : Shown(c);
  }
  return line;
}

// Columns left-aligned, two spaces between; the last is not padded.
void AppendRows(const std::vector<Row>& rows, std::string& out) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line = "  ";
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    out += line + "\n";
  }
}

void AppendSection(const char* title, const std::vector<Row>& rows, std::string& out) {
  out.append("\n").append(title).append("\n");
  AppendRows(rows, out);
}

// Norms of the layers have the same sites; one line a site says it all.
std::vector<Row> NormRows(const Inspection& inspection) {
  struct Site {
    const InspectedNorm* first;
    size_t count;
  };
  std::vector<Site> sites;
  for (const InspectedNorm& norm : inspection.norms) {
    const auto same = std::find_if(sites.begin(), sites.end(), [&](const Site& site) {
      return site.first->site == norm.site && site.first->kind == norm.kind && site.first->size == norm.size;
    });
    if (same != sites.end()) {
      ++same->count;
    } else {
      sites.push_back({&norm, 1});
    }
  }
  std::vector<Row> rows = {{"site", "kind", "size", "count", "eps"}};
  for (const Site& site : sites) {
    rows.push_back({site.first->site, site.first->kind, std::to_string(site.first->size), std::to_string(site.count),
                    site.first->eps ? FloatText(*site.first->eps) : "not in the file"});
  }
  return rows;
}

// Text from a file may be any bytes; JSON holds UTF-8 only, so others become U+FFFD.
std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::ordered_json KeyValue(const InspectedKey& key) {
  if (key.type == "string" || key.type.starts_with("array")) return key.value;
  return nlohmann::ordered_json::parse(key.value, nullptr, /*allow_exceptions=*/false).is_discarded()
             ? nlohmann::ordered_json(key.value)  // nan, inf
             : nlohmann::ordered_json::parse(key.value);
}

}  // namespace

std::string InspectTable(const Inspection& inspection) {
  std::string out = inspection.path + "\n";
  const std::string format =
      inspection.format + (inspection.version != 0 ? " version " + std::to_string(inspection.version) : "");
  std::vector<Row> summary = {{"format", format},
                              {"architecture", inspection.architecture.empty() ? "none" : inspection.architecture}};
  if (!inspection.name.empty()) summary.push_back({"name", OneLine(inspection.name, 80)});
  summary.push_back({"supported", inspection.supported ? "yes" : "no"});
  for (std::string reason : inspection.reasons) {
    for (size_t at = 0; (at = reason.find('\n', at)) != std::string::npos;) reason.replace(at, 1, "; ");
    summary.push_back({"", OneLine(reason, 400)});
  }
  char share[32];
  std::snprintf(share, sizeof(share), " (%.4f %%)",
                inspection.parameters == 0 ? 0.0
                                           : 100.0 * static_cast<double>(inspection.norm_parameters) /
                                                 static_cast<double>(inspection.parameters));
  summary.push_back({"parameters", Grouped(inspection.parameters)});
  summary.push_back({"in norms", Grouped(inspection.norm_parameters) + share});
  AppendRows(summary, out);

  const InspectedMemory& memory = inspection.memory;
  AppendSection("Memory",
                {{"weights", BytesText(memory.weights)},
                 {"cache", !memory.keeps_keys     ? "none, an encoder keeps nothing"
                           : memory.kv_cache == 0 ? "unknown"
                                                  : BytesText(memory.kv_cache) + " at a context of " +
                                                        std::to_string(memory.context) + " tokens"},
                 {"total", BytesText(memory.total)}},
                out);

  std::vector<Row> types = {{"type", "tensors", "parameters", "bytes"}};
  for (const InspectedType& type : inspection.types) {
    types.push_back(
        {InfoOf(type.type).name, std::to_string(type.tensors), Grouped(type.elements), BytesText(type.bytes)});
  }
  AppendSection("Types", types, out);
  AppendSection("Norms", NormRows(inspection), out);

  std::vector<Row> keys;
  for (const InspectedKey& key : inspection.metadata)
    keys.push_back({OneLine(key.key, 80), key.type, OneLine(key.value, 80)});
  AppendSection("Metadata", keys, out);

  std::vector<Row> tensors = {{"name", "type", "shape", "offset", "bytes"}};
  for (const InspectedTensor& tensor : inspection.tensors) {
    tensors.push_back({OneLine(tensor.name, 300), InfoOf(tensor.type).name, ShapeText(tensor.shape),
                       std::to_string(tensor.offset), std::to_string(tensor.bytes)});
  }
  AppendSection("Tensors", tensors, out);
  return out;
}

std::string InspectJson(const Inspection& inspection) {
  nlohmann::ordered_json json;
  json["path"] = inspection.path;
  json["format"] = inspection.format;
  if (inspection.version != 0) json["version"] = inspection.version;
  json["architecture"] = inspection.architecture;
  json["name"] = inspection.name;
  json["supported"] = inspection.supported;
  json["reasons"] = inspection.reasons;
  json["parameters"] = inspection.parameters;
  json["norm_parameters"] = inspection.norm_parameters;
  json["memory"] = {{"weights", inspection.memory.weights},
                    {"context", inspection.memory.context},
                    {"kv_cache", inspection.memory.kv_cache},
                    {"total", inspection.memory.total}};
  auto& types = json["types"] = nlohmann::ordered_json::array();
  for (const InspectedType& type : inspection.types) {
    types.push_back({{"type", InfoOf(type.type).name},
                     {"tensors", type.tensors},
                     {"parameters", type.elements},
                     {"bytes", type.bytes}});
  }
  auto& norms = json["norms"] = nlohmann::ordered_json::array();
  for (const InspectedNorm& norm : inspection.norms) {
    nlohmann::ordered_json item = {
        {"site", norm.site}, {"layer", norm.layer}, {"kind", norm.kind}, {"size", norm.size}};
    item["eps"] = norm.eps ? nlohmann::ordered_json::parse(FloatText(*norm.eps), nullptr, false) : nullptr;
    norms.push_back(std::move(item));
  }
  auto& metadata = json["metadata"] = nlohmann::ordered_json::array();
  for (const InspectedKey& key : inspection.metadata) {
    metadata.push_back({{"key", key.key}, {"type", key.type}, {"value", KeyValue(key)}});
  }
  auto& tensors = json["tensors"] = nlohmann::ordered_json::array();
  for (const InspectedTensor& tensor : inspection.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"type", InfoOf(tensor.type).name},
                       {"offset", tensor.offset},
                       {"bytes", tensor.bytes}});
  }
  return Dump(json);
}

}  // namespace prenorm::tools
