// Tree: regions, which divide the rows among themselves. The root is everything, and a region is divided into two by a
// condition on some features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "linalg/archive.hpp"
#include "linalg/rows.hpp"

namespace onkel {

// A row is on the lower side if each of these features is at most its threshold: one feature for a number, and for a
// set of categories the columns that stand for them, so that the upper side has the rows of these categories. What a
// sparse row does not have is 0.
struct Condition {
  std::vector<std::int64_t> features;
  std::vector<double> thresholds;
};

class Tree {
 public:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  struct Region {
    std::int64_t number = 0;                                // which it keeps as long as it lives
    std::int64_t born = 0;                                  // the number of rows of the stream before its birth
    std::int64_t rows = 0;                                  // since its birth
    Condition condition = {};                               // how it is divided; empty for a leaf
    std::size_t parent = none, lower = none, upper = none;  // places
    bool is_leaf() const { return condition.features.empty(); }
  };

  // A root that has seen so many rows.
  explicit Tree(std::int64_t rows = 0) : regions_(1) { regions_[0].rows = rows; }
  // Regions by their places: parents before children, all of the lower side before the upper side.
  std::size_t size() const { return regions_.size(); }
  const Region& operator[](std::size_t place) const { return regions_[place]; }
  // Throws where there is none of this number.
  std::size_t place_of(std::int64_t number) const;
  // Where those below this region end.
  std::size_t end_of(std::size_t place) const;
  // The leaf of a row.
  std::size_t leaf_of(const Rows& rows, Type type, std::size_t row) const;
  // A row of this leaf was learned from.
  void count(std::size_t leaf);
  // As if the regions had been agreed on before the first row, and their leaves, in the order of their places, had seen
  // so many rows.
  void recount(std::span<const std::int64_t> rows);
  // Both change places. A leaf is divided at row `born`; and a region becomes a leaf.
  void divide(std::size_t place, const Condition& condition, std::int64_t born);
  void make_leaf(std::size_t place);

  // For rows of so many features.
  void check(const Condition& condition, std::size_t width) const;
  void visit(Archive& archive);
  void check_rows(std::int64_t t, std::size_t width) const;

 private:
  template <class T>
  bool is_lower(const Condition& condition, const Rows& rows, std::size_t row) const;
  template <class T>
  std::size_t leaf_of(const Rows& rows, std::size_t row) const;
  void link();

  std::vector<Region> regions_;
  std::int64_t next_ = 1;  // the number of the next region
};

}  // namespace onkel
