// Rows for the tests of the core, dense or CSR, in buffers of exactly their size.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "loop/learner.hpp"

namespace onkel {

template <class T>
struct StreamOf {
  std::vector<T> values;
  std::vector<std::int32_t> features;  // CSR only, as are the offsets
  std::vector<std::int64_t> offsets;
};

class Stream {
 public:
  explicit Stream(const Config& config) : config_(config) {
    if (config.type == Type::f32) rows_ = StreamOf<float>{};
    std::visit([](auto& rows) { rows.offsets = {0}; }, rows_);
  }

  template <class Values>
  void add(const Values& values, double y, double weight = 1.0) {
    std::visit([&](auto& rows) { append(rows, values); }, rows_);
    y_.push_back(y);
    weight_.push_back(weight);
  }
  std::size_t size() const { return y_.size(); }
  Learner::Batch batch(std::size_t begin, std::size_t end) const {
    return {rows(begin, end), y_.data() + begin, weight_.data() + begin};
  }
  Rows rows(std::size_t begin, std::size_t end) const {
    return std::visit(
        [&](const auto& rows) -> Rows {
          if (config_.sparse)
            return {rows.values.data(), end - begin, config_.width, rows.offsets.data() + begin, rows.features.data()};
          return {rows.values.data() + begin * config_.width, end - begin, config_.width};
        },
        rows_);
  }

 private:
  template <class T, class Values>
  void append(StreamOf<T>& rows, const Values& values) {
    for (std::size_t j = 0; j < config_.width; ++j) {
      const T value = static_cast<T>(values[j]);
      if (config_.sparse && value == 0) continue;
      rows.values.push_back(value);
      if (config_.sparse) rows.features.push_back(static_cast<std::int32_t>(j));
    }
    rows.offsets.push_back(static_cast<std::int64_t>(rows.values.size()));
  }

  const Config& config_;
  std::variant<StreamOf<double>, StreamOf<float>> rows_;
  std::vector<double> y_, weight_;
};

inline bool operator==(const Array& a, const Array& b) {
  return a.type == b.type && a.rows == b.rows && a.columns == b.columns && a.bytes == b.bytes;
}

}  // namespace onkel
