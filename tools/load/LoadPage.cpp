//===- LoadPage.cpp - a load test as one HTML file --------------------------------===//
//
// Plots are SVG made here: the file opens anywhere, without scripts or network.
//
//===----------------------------------------------------------------------===//
#include "tools/load/LoadReport.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fusec::load {

namespace {

constexpr double plotWidth = 560, plotHeight = 220, margin = 46;

std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '&':
      out += "&amp;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  }
  return out;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

struct Point {
  double x = 0, y = 0;
};

/// One plot: points or steps over two linear axes that start at 0.
class Plot {
public:
  Plot(std::string title, std::string xName, std::string yName)
      : title(std::move(title)), xName(std::move(xName)), yName(std::move(yName)) {}

  void addLine(std::string name, std::vector<Point> points) {
    series.push_back({std::move(name), std::move(points), true});
  }
  void addDots(std::string name, std::vector<Point> points) {
    series.push_back({std::move(name), std::move(points), false});
  }
  std::string svg() const;

private:
  struct Series {
    std::string name;
    std::vector<Point> points;
    bool isLine;
  };

  double most(double Point::*axis) const;
  std::string axes(double xMost, double yMost) const;
  std::string draw(const Series &s, size_t index, double xMost, double yMost) const;

  std::string title, xName, yName;
  std::vector<Series> series;
};

constexpr const char *colours[] = {"var(--a)", "var(--b)", "var(--c)", "var(--d)"};

double Plot::most(double Point::*axis) const {
  double value = 0;
  for (const Series &s : series)
    for (const Point &p : s.points)
      value = std::max(value, p.*axis);
  return value > 0 ? value : 1;
}

double toX(double x, double most) { return margin + x / most * (plotWidth - margin - 10); }
double toY(double y, double most) { return plotHeight - margin + 14 - y / most * (plotHeight - margin - 14); }

std::string Plot::axes(double xMost, double yMost) const {
  std::string out;
  for (int i = 0; i <= 4; ++i) {
    const double x = xMost * i / 4, y = yMost * i / 4;
    const std::string py = number(toY(y, yMost)), px = number(toX(x, xMost));
    out += "<line class=g x1=" + number(margin) + " x2=" + number(plotWidth - 10) + " y1=" + py + " y2=" + py + " />";
    out += "<text text-anchor=end x=" + number(margin - 4) + " y=" + number(toY(y, yMost) + 4) + ">" + number(y) +
           "</text><text text-anchor=middle x=" + px + " y=" + number(plotHeight - 16) + ">" + number(x) + "</text>";
  }
  out += "<text text-anchor=end x=" + number(plotWidth - 10) + " y=" + number(plotHeight - 2) + ">" + escape(xName) +
         "</text><text x=2 y=10>" + escape(yName) + "</text>";
  return out;
}

std::string Plot::draw(const Series &s, size_t index, double xMost, double yMost) const {
  const std::string colour = colours[index % std::size(colours)];
  std::string out;
  if (s.isLine) {
    out = "<polyline fill=none stroke-width=1.6 stroke=\"" + colour + "\" points=\"";
    for (const Point &p : s.points)
      out += number(toX(p.x, xMost)) + "," + number(toY(p.y, yMost)) + " ";
    out += "\"/>";
  } else {
    for (const Point &p : s.points)
      out += "<circle r=2 fill=\"" + colour + "\" cx=" + number(toX(p.x, xMost)) + " cy=" + number(toY(p.y, yMost)) +
             " />";
  }
  const double x = margin + 10 + 110 * static_cast<double>(index);
  return out + "<rect width=9 height=9 y=4 x=" + number(x) + " fill=\"" + colour +
         "\"/><text y=12 x=" + number(x + 13) + ">" + escape(s.name) + "</text>";
}

std::string Plot::svg() const {
  const double xMost = most(&Point::x), yMost = most(&Point::y);
  std::string out = "<figure><figcaption>" + escape(title) + "</figcaption><svg viewBox=\"0 0 " + number(plotWidth) +
                    " " + number(plotHeight) + "\" role=img aria-label=\"" + escape(title) + "\">" + axes(xMost, yMost);
  for (size_t i = 0; i < series.size(); ++i)
    out += draw(series[i], i, xMost, yMost);
  return out + "</svg></figure>";
}

/// Share of samples up to each value, at most 200 points.
std::vector<Point> cumulative(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  std::vector<Point> points;
  const size_t step = std::max<size_t>(1, samples.size() / 200);
  for (size_t i = 0; i < samples.size(); i += step)
    points.push_back({samples[i] * 1e3, static_cast<double>(i + 1) / static_cast<double>(samples.size())});
  if (!samples.empty())
    points.push_back({samples.back() * 1e3, 1});
  return points;
}

template <typename Get> std::vector<double> samplesOf(const LoadResult &result, Get get) {
  std::vector<double> samples;
  for (const RequestRecord &record : result.records)
    if (record.isComplete() && record.first >= 0)
      samples.push_back(get(record));
  return samples;
}

/// Events per second in about a hundred bins over the run.
std::vector<Point> rateOverTime(const std::vector<double> &times, double seconds) {
  const double width = std::max(seconds / 100, 0.25);
  std::vector<Point> points(static_cast<size_t>(seconds / width) + 1);
  for (size_t i = 0; i < points.size(); ++i)
    points[i].x = (static_cast<double>(i) + 0.5) * width;
  for (double time : times)
    if (time >= 0 && time <= seconds)
      points[std::min(static_cast<size_t>(time / width), points.size() - 1)].y += 1 / width;
  return points;
}

std::string plots(const LoadReport &report) {
  const LoadResult &result = report.result;
  std::vector<double> pieces;
  std::vector<Point> first, endToEnd;
  for (const RequestRecord &record : result.records) {
    pieces.insert(pieces.end(), record.pieces.begin(), record.pieces.end());
    if (!record.isComplete() || record.first < 0)
      continue;
    first.push_back({record.sent, record.timeToFirst() * 1e3});
    endToEnd.push_back({record.sent, record.endToEnd() * 1e3});
  }
  Plot rate("Output over time", "seconds", "pieces/s"), latency("Latency by time of sending", "seconds", "ms");
  rate.addLine("pieces with text", rateOverTime(pieces, result.seconds));
  latency.addDots("TTFT", first);
  latency.addDots("E2E", endToEnd);
  Plot early("Time to first text", "ms", "share of requests"),
      token("Time per output token", "ms", "share of requests");
  early.addLine("TTFT", cumulative(samplesOf(result, [](const RequestRecord &r) { return r.timeToFirst(); })));
  token.addLine("TPOT", cumulative(samplesOf(result, [](const RequestRecord &r) { return r.timePerToken(); })));
  return "<div class=plots>" + rate.svg() + latency.svg() + early.svg() + token.svg() + "</div>";
}

constexpr const char *head =
    "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
    "<title>fusec load test</title><style>"
    ":root{color-scheme:light dark;--a:#0b6bcb;--b:#c4560a;--c:#2b8a3e;--d:#862e9c;--g:#8884}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1180px;margin:2em auto;padding:0 1em}"
    "pre{overflow:auto;padding:1em;border:1px solid var(--g);border-radius:6px}"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(340px,1fr));gap:1em}figure{margin:0}"
    "figcaption{font-weight:600}svg{width:100%;font-size:11px}svg text{fill:currentColor}.g{stroke:var(--g)}"
    "table{border-collapse:collapse}td{padding:.15em 1em .15em 0;vertical-align:top}.no{color:var(--b)}</style>";

std::string contextTable(const nlohmann::json &context) {
  std::string out = "<h2>Context</h2><table>";
  for (const auto &[name, value] : context.items())
    out += "<tr><td>" + escape(name) + "<td>" +
           (value.is_null() ? "<span class=no>missing</span>"
                            : escape(value.is_string() ? value.get<std::string>() : value.dump()));
  return out + "</table>";
}

} // namespace

std::string toPage(const LoadReport &report) {
  return std::string(head) + "<h1>Load test</h1><pre>" + escape(toText(report)) + "</pre>" + plots(report) +
         contextTable(report.context) + "</html>\n";
}

} // namespace fusec::load
