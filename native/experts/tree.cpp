#include "experts/tree.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace onkel {
namespace {

template <class T>
T value_of(const Rows& rows, std::size_t row, std::int64_t feature) {
  const T* values = static_cast<const T*>(rows.values);
  if (rows.offsets == nullptr) return values[row * rows.width + static_cast<std::size_t>(feature)];
  const std::int32_t* begin = rows.indices + rows.offsets[row];
  const std::int32_t* end = rows.indices + rows.offsets[row + 1];
  const std::int32_t* found = std::lower_bound(begin, end, static_cast<std::int32_t>(feature));
  return found == end || *found != feature ? T{0} : values[found - rows.indices];
}

}  // namespace

template <class T>
bool Tree::is_lower(const Condition& condition, const Rows& rows, std::size_t row) const {
  for (std::size_t i = 0; i < condition.features.size(); ++i)
    if (!(static_cast<double>(value_of<T>(rows, row, condition.features[i])) <= condition.thresholds[i])) return false;
  return true;
}

template <class T>
std::size_t Tree::leaf_of(const Rows& rows, std::size_t row) const {
  std::size_t place = 0;
  while (!regions_[place].is_leaf())
    place = is_lower<T>(regions_[place].condition, rows, row) ? regions_[place].lower : regions_[place].upper;
  return place;
}

std::size_t Tree::leaf_of(const Rows& rows, Type type, std::size_t row) const {
  return type == Type::f32 ? leaf_of<float>(rows, row) : leaf_of<double>(rows, row);
}

std::size_t Tree::place_of(std::int64_t number) const {
  for (std::size_t place = 0; place < size(); ++place)
    if (regions_[place].number == number) return place;
  throw std::invalid_argument("there is no region " + std::to_string(number));
}

std::size_t Tree::end_of(std::size_t place) const {
  while (!regions_[place].is_leaf()) place = regions_[place].upper;
  return place + 1;
}

void Tree::count(std::size_t leaf) {
  for (std::size_t place = leaf; place != none; place = regions_[place].parent) ++regions_[place].rows;
}

void Tree::recount(std::span<const std::int64_t> rows) {
  std::size_t leaves = 0;
  for (Region& own : regions_) {
    own.born = own.rows = 0;
    leaves += own.is_leaf() ? 1 : 0;
  }
  if (rows.size() != leaves || std::ranges::any_of(rows, [](std::int64_t n) { return n < 0; }))
    throw std::invalid_argument("there must be a number of rows for each leaf");
  for (std::size_t place = 0; place < size(); ++place) {
    if (!regions_[place].is_leaf()) continue;
    for (std::size_t above = place; above != none; above = regions_[above].parent) regions_[above].rows += rows.front();
    rows = rows.subspan(1);
  }
}

void Tree::divide(std::size_t place, const Condition& condition, std::int64_t born) {
  regions_[place].condition = condition;
  const Region children[] = {{.number = next_, .born = born}, {.number = next_ + 1, .born = born}};
  next_ += 2;
  regions_.insert(regions_.begin() + static_cast<std::ptrdiff_t>(place) + 1, std::begin(children), std::end(children));
  link();
}

void Tree::make_leaf(std::size_t place) {
  const auto at = [&](std::size_t i) { return regions_.begin() + static_cast<std::ptrdiff_t>(i); };
  regions_.erase(at(place + 1), at(end_of(place)));
  regions_[place].condition = {};
  link();
}

// Places follow from the order of the regions and from which of them are leaves.
void Tree::link() {
  std::vector<std::size_t> open;  // those that still wait for a side
  for (std::size_t place = 0; place < size(); ++place) {
    Region& own = regions_[place];
    own.parent = own.lower = own.upper = none;
    if (!open.empty()) {
      own.parent = open.back();
      Region& parent = regions_[own.parent];
      (parent.lower == none ? parent.lower : parent.upper) = place;
      if (parent.upper != none) open.pop_back();
    } else if (place > 0) {
      throw std::invalid_argument("state 'tree' must be one tree of regions");
    }
    if (!own.is_leaf()) open.push_back(place);
  }
  if (!open.empty()) throw std::invalid_argument("state 'tree' must have two regions for each condition");
}

void Tree::check(const Condition& condition, std::size_t width) const {
  if (condition.features.empty() || condition.features.size() != condition.thresholds.size())
    throw std::invalid_argument("a condition must have one threshold for each of its features, of which it has some");
  std::int64_t last = -1;
  for (const std::int64_t feature : condition.features) {
    if (feature <= last || feature >= static_cast<std::int64_t>(width))
      throw std::invalid_argument("the features of a condition must ascend, and be columns of the rows");
    last = feature;
  }
  if (!std::all_of(condition.thresholds.begin(), condition.thresholds.end(), [](double c) { return std::isfinite(c); }))
    throw std::invalid_argument("the thresholds of a condition must be finite");
}

void Tree::visit(Archive& archive) {
  std::vector<std::int64_t> numbers, born, rows, sizes, features;
  std::vector<double> thresholds;
  for (const Region& own : regions_) {
    numbers.push_back(own.number);
    born.push_back(own.born);
    rows.push_back(own.rows);
    sizes.push_back(static_cast<std::int64_t>(own.condition.features.size()));
    features.insert(features.end(), own.condition.features.begin(), own.condition.features.end());
    thresholds.insert(thresholds.end(), own.condition.thresholds.begin(), own.condition.thresholds.end());
  }
  archive.scalar("next", next_);
  archive.array("numbers", numbers);
  archive.array("born", born);
  archive.array("rows", rows);
  archive.array("conditions", sizes);
  archive.array("features", features);
  archive.array("thresholds", thresholds);
  if (!archive.loading()) return;
  const std::size_t n = numbers.size();
  archive.require(n > 0 && born.size() == n && rows.size() == n && sizes.size() == n, "numbers",
                  "must be as many as there are regions");
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    archive.require(size >= 0 && size <= static_cast<std::int64_t>(features.size()) - total, "conditions",
                    "must be the number of features of each condition");
    total += size;
  }
  archive.require(total == static_cast<std::int64_t>(features.size()) && thresholds.size() == features.size(),
                  "features", "must be those of the conditions, with a threshold each");
  regions_.assign(n, {});
  auto at = std::ptrdiff_t{0};
  for (std::size_t place = 0; place < n; ++place) {
    const std::ptrdiff_t end = at + sizes[place];
    regions_[place].number = numbers[place];
    regions_[place].born = born[place];
    regions_[place].rows = rows[place];
    regions_[place].condition = {{features.begin() + at, features.begin() + end},
                                 {thresholds.begin() + at, thresholds.begin() + end}};
    at = end;
  }
  link();
}

void Tree::check_rows(std::int64_t t, std::size_t width) const {
  std::vector<std::int64_t> numbers;
  if (next_ > std::int64_t{1} << 62) throw std::invalid_argument("state 'tree.next' must be at most 2^62");
  for (const Region& own : regions_) {
    numbers.push_back(own.number);
    if (!own.is_leaf()) check(own.condition, width);
    if (own.number < 0 || own.number >= next_ || own.born < 0 || own.born > t || own.rows < 0 ||
        own.rows > t - own.born)
      throw std::invalid_argument("state 'tree' must have regions of the rows so far");
    if (!own.is_leaf() && regions_[own.lower].rows > own.rows - regions_[own.upper].rows)
      throw std::invalid_argument("state 'tree.rows' must be at least those of both sides");
  }
  std::sort(numbers.begin(), numbers.end());
  if (regions_[0].number != 0 || std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end())
    throw std::invalid_argument("state 'tree.numbers' must begin with 0 and have no number twice");
}

}  // namespace onkel
