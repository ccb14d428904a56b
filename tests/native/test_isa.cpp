// Checks the routines of the instruction set in use (ONKEL_ISA chooses it) against long double references, and that a
// pair's bits do not depend on the shape of the call. Exits non-zero on failure.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa/isa.hpp"

namespace {

using onkel::Base;
using onkel::Kernel;
using onkel::Shape;
namespace isa = onkel::isa;

int n_passed = 0;
int n_failed = 0;

void check(bool ok, const std::string& what) {
  if (ok) {
    ++n_passed;
  } else {
    ++n_failed;
    std::printf("FAILED: %s\n", what.c_str());
  }
}

template <class T>
const char* type_name() {
  return sizeof(T) == 4 ? "float32" : "float64";
}

const char* name_of(Base base) {
  return base == Base::squared_distance ? "squared_distance" : base == Base::dot ? "dot" : "manhattan";
}

const char* name_of(Shape shape) {
  return shape == Shape::identity      ? "identity"
         : shape == Shape::exponential ? "exponential"
         : shape == Shape::polynomial  ? "polynomial"
                                       : "sigmoid";
}

// The x86 baseline rounds twice in a multiply-add, which costs accuracy in large exponents.
bool level_has_fma() { return std::string(isa::level().name) != "baseline"; }

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// The distance of value from reference in units of T's last place at the reference; infinite for a NaN.
template <class T>
double error_in_ulp(T value, long double reference) {
  if (std::isnan(value) || std::isnan(reference)) return std::numeric_limits<double>::infinity();
  int exponent = 0;
  std::frexp(reference, &exponent);
  const int lowest = std::numeric_limits<T>::min_exponent;
  const int last_place = (exponent < lowest ? lowest : exponent) - std::numeric_limits<T>::digits;
  return static_cast<double>(std::fabs(std::ldexp(static_cast<long double>(value) - reference, -last_place)));
}

template <class T>
std::vector<T> random_values(std::size_t n, unsigned seed, double low, double high) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(uniform(random));
  return values;
}

// ---- Formulas ---------------------------------------------------------------------------------------------------

template <class T>
long double reference_formula(const Kernel& kernel, T q) {
  const long double gamma = kernel.gamma;
  const long double coef0 = kernel.coef0;
  switch (kernel.shape) {
    case Shape::identity:
      return q;
    case Shape::exponential:
      return std::exp(-gamma * q);
    case Shape::polynomial:
      return std::pow(gamma * q + coef0, static_cast<long double>(kernel.degree));
    case Shape::sigmoid:
      return std::tanh(gamma * q + coef0);
  }
  return std::numeric_limits<long double>::quiet_NaN();
}

template <class T>
double worst_error(const Kernel& kernel, const std::vector<T>& quantities) {
  std::vector<T> values = quantities;
  isa::routines<T>().shape(kernel, values.data(), values.size());
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    worst = std::fmax(worst, error_in_ulp(values[i], reference_formula(kernel, quantities[i])));
  }
  return worst;
}

template <class T>
void check_formula(const Kernel& kernel, double low, double high, double budget_in_ulp) {
  const double worst = worst_error(kernel, random_values<T>(1 << 16, 7, low, high));
  char text[200];
  std::snprintf(text, sizeof text, "%s %s, gamma %g, coef0 %g, degree %d, q in [%g, %g]: %.3f ulp of at most %.3f",
                type_name<T>(), name_of(kernel.shape), kernel.gamma, kernel.coef0, kernel.degree, low, high, worst,
                budget_in_ulp);
  std::printf("%s\n", text);
  check(worst <= budget_in_ulp, text);
}

template <class T>
void check_formulas() {
  const auto exponential = [](double gamma) { return Kernel{Base::squared_distance, Shape::exponential, gamma, 0, 1}; };
  const double underflow = -std::log(static_cast<double>(std::numeric_limits<T>::min())) * 0.999;
  // Without a fused multiply-add the product gamma q is rounded, and so it is in the reference, to a long double.
  const auto budget = [](double exponent) {
    const double reference_ulp =
        static_cast<double>(std::numeric_limits<long double>::epsilon()) / std::numeric_limits<T>::epsilon();
    return 1.0 + exponent * ((level_has_fma() ? 0.0 : 0.75) + reference_ulp);
  };
  for (const double gamma : {1.0, 0.1, 1.0 / 3.0, 37.5}) {
    check_formula<T>(exponential(gamma), 0, 0.3 / gamma, budget(0.3));
    check_formula<T>(exponential(gamma), 0, 10 / gamma, budget(10));
    check_formula<T>(exponential(gamma), 0, underflow / gamma, budget(underflow));
    check_formula<T>(exponential(gamma), -10 / gamma, 0, budget(10));
  }
  const auto polynomial = [](double gamma, double coef0, int degree) {
    return Kernel{Base::dot, Shape::polynomial, gamma, coef0, degree};
  };
  for (const int degree : {0, 1, 2, 3, 5, 8}) {
    // `degree` roundings of the base and degree - 1 products, half an ulp each, which may double in the result's ulp.
    const double budget_in_ulp = degree == 0 ? 0 : 2 * degree - 1;
    check_formula<T>(polynomial(0.5, 1, degree), 0, 4, budget_in_ulp);
    check_formula<T>(polynomial(0.5, 0, degree), -4, 4, budget_in_ulp);
  }
  const auto sigmoid = [](double gamma, double coef0) { return Kernel{Base::dot, Shape::sigmoid, gamma, coef0, 1}; };
  const double sigmoid_budget = level_has_fma() ? 3.5 : 4;
  for (const double range : {1e-30, 1e-4, 0.3, 1.0, 4.0, 30.0}) {
    check_formula<T>(sigmoid(1, 0), -range, range, sigmoid_budget);
  }
  check_formula<T>(sigmoid(0.25, 0.5), 0, 30, sigmoid_budget);
  check_formula<T>({Base::dot, Shape::identity, 1, 0, 1}, -3, 3, 0);
}

template <class T>
T formula_of(const Kernel& kernel, T q) {
  std::vector<T> values(isa::lanes<T>, q);
  isa::routines<T>().shape(kernel, values.data(), values.size());
  for (const T& value : values) {
    if (!same_bits(value, values[0])) return std::numeric_limits<T>::quiet_NaN();
  }
  return values[0];
}

template <class T>
void check_extremes() {
  const std::string type = type_name<T>();
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T largest = std::numeric_limits<T>::max();
  const T smallest = std::numeric_limits<T>::min();
  for (const double gamma : {1e-300, 1e-30, 1e-3, 1.0, 1e3, 1e30}) {
    const Kernel kernel = {Base::squared_distance, Shape::exponential, gamma, 0, 1};
    const std::string at_gamma = type + " exponential, gamma " + std::to_string(gamma) + ": ";
    check(same_bits(formula_of<T>(kernel, 0), T{1}), at_gamma + "1 at 0");
    check(same_bits(formula_of<T>(kernel, inf), T{0}), at_gamma + "0 at inf");
    check(std::isnan(formula_of<T>(kernel, nan)), at_gamma + "NaN at NaN");
    if (gamma >= 1e-3) check(same_bits(formula_of<T>(kernel, largest), T{0}), at_gamma + "0 at the largest number");
  }
  const Kernel kernel = {Base::squared_distance, Shape::exponential, 1, 0, 1};
  const T edge = -std::log(smallest);
  std::size_t n_bad = 0;
  for (int step = -2000; step <= 2000; ++step) {
    const T value = formula_of<T>(kernel, edge * (T{1} + static_cast<T>(step) * T(1e-4)));
    const bool normal = value >= smallest;
    if (!(same_bits(value, T{0}) || normal) || (step < -1 && !normal) || (step > 1 && normal)) ++n_bad;
  }
  check(n_bad == 0, type + " exponential: 0 below the smallest normal number, " + std::to_string(n_bad) + " wrong");
  check(same_bits(formula_of<T>(kernel, -largest), inf), type + " exponential: inf far below 0");
  check(same_bits(formula_of<T>(kernel, -inf), inf), type + " exponential: inf at -inf");

  const Kernel sigmoid = {Base::dot, Shape::sigmoid, 1, 0, 1};
  for (const T q : {T{20}, T{1000}, largest, inf}) {
    check(same_bits(formula_of<T>(sigmoid, q), T{1}), type + " sigmoid: exactly 1 far out");
    check(same_bits(formula_of<T>(sigmoid, -q), T{-1}), type + " sigmoid: exactly -1 far out");
  }
  check(std::isnan(formula_of<T>(sigmoid, nan)), type + " sigmoid: NaN at NaN");
  check(formula_of<T>(sigmoid, 0) == T{0}, type + " sigmoid: 0 at 0");
  n_bad = 0;
  for (const T q : random_values<T>(4096, 3, 0, 12)) {
    const T up = formula_of<T>(sigmoid, q);
    if (!same_bits(up, static_cast<T>(-formula_of<T>(sigmoid, -q))) || up > T{1}) ++n_bad;
  }
  check(n_bad == 0, type + " sigmoid: odd and never above 1");
}

// ---- Tiles ------------------------------------------------------------------------------------------------------

// Rows of n_features values in tiles; empty slots are zeros.
template <class T>
std::vector<T> to_tiles(const std::vector<T>& points, std::size_t n_points, std::size_t n_features) {
  constexpr std::size_t lanes = isa::lanes<T>;
  std::vector<T> tiles((n_points + lanes - 1) / lanes * lanes * n_features);
  for (std::size_t p = 0; p < n_points; ++p) {
    for (std::size_t k = 0; k < n_features; ++k) {
      tiles[(p / lanes * n_features + k) * lanes + p % lanes] = points[p * n_features + k];
    }
  }
  return tiles;
}

template <class T>
struct Problem {
  std::size_t n_rows;
  std::size_t n_points;  // a multiple of lanes<T>
  std::size_t n_features;
  std::vector<T> rows;
  std::vector<T> points;

  Problem(std::size_t rows_, std::size_t points_, std::size_t features_)
      : n_rows(rows_),
        n_points(points_),
        n_features(features_),
        rows(random_values<T>(rows_ * features_, 11, -1, 1)),
        points(random_values<T>(points_ * features_, 13, -1, 1)) {}
};

// kernel(row, point) of the problem's first rows and tiles, computed by one call with padded strides.
template <class T>
std::vector<T> kernel_matrix(const Kernel& kernel, const Problem<T>& problem, std::size_t n_rows, std::size_t n_tiles,
                             std::size_t padding) {
  const std::size_t d = problem.n_features;
  const std::size_t row_stride = d + padding;
  const std::size_t width = n_tiles * isa::lanes<T>;
  const std::size_t out_stride = width + padding;
  std::vector<T> rows(n_rows * row_stride, std::numeric_limits<T>::quiet_NaN());
  for (std::size_t r = 0; r < n_rows; ++r) {
    for (std::size_t k = 0; k < d; ++k) rows[r * row_stride + k] = problem.rows[r * d + k];
  }
  // Exactly as long as the call may write, so that the address sanitizer sees one element too many.
  std::vector<T> padded((n_rows - 1) * out_stride + width, T(-77));
  const std::vector<T> tiles = to_tiles(problem.points, width, d);
  isa::routines<T>().tile(kernel, rows.data(), n_rows, row_stride, tiles.data(), n_tiles, d, padded.data(), out_stride);
  std::vector<T> matrix;
  for (std::size_t r = 0; r < n_rows; ++r) {
    for (std::size_t p = 0; p < width; ++p) matrix.push_back(padded[r * out_stride + p]);
    for (std::size_t p = width; p < out_stride && r + 1 < n_rows; ++p) {
      if (!same_bits(padded[r * out_stride + p], T(-77))) return {};
    }
  }
  return matrix;
}

template <class T>
long double reference_base(Base base, const T* x, const T* s, std::size_t n_features) {
  long double sum = 0;
  for (std::size_t k = 0; k < n_features; ++k) {
    const long double difference = static_cast<long double>(x[k]) - static_cast<long double>(s[k]);
    sum += base == Base::squared_distance ? difference * difference
           : base == Base::dot            ? static_cast<long double>(x[k]) * static_cast<long double>(s[k])
                                          : std::fabs(difference);
  }
  return sum;
}

template <class T>
void check_base(Base base) {
  for (const std::size_t d : std::initializer_list<std::size_t>{1, 2, 7, 18, 123}) {
    const Problem<T> problem(13, 48, d);
    const Kernel kernel = {base, Shape::identity, 1, 0, 1};
    const std::vector<T> matrix = kernel_matrix(kernel, problem, 13, 48 / isa::lanes<T>, 3);
    // A chain of d rounded terms, each at most 4 and each sum at most 4 d.
    const double budget = 4.0 * static_cast<double>(d * (d + 2)) * std::numeric_limits<T>::epsilon() / 2;
    double worst = matrix.empty() ? std::numeric_limits<double>::infinity() : 0;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      const long double reference =
          reference_base(base, problem.rows.data() + i / 48 * d, problem.points.data() + i % 48 * d, d);
      const double error = static_cast<double>(std::fabs(static_cast<long double>(matrix[i]) - reference));
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::fmax(worst, error);
    }
    check(worst <= budget, std::string(type_name<T>()) + " " + name_of(base) + ", d " + std::to_string(d) + ": error " +
                               std::to_string(worst) + " of at most " + std::to_string(budget));
  }
}

template <class T>
void check_bit_identity(const Kernel& kernel, std::size_t n_features) {
  constexpr std::size_t max_rows = 48;
  constexpr std::size_t max_points = 13 * isa::lanes<T>;
  const Problem<T> problem(max_rows, max_points, n_features);
  const std::string what = std::string(type_name<T>()) + " " + name_of(kernel.base) + " " + name_of(kernel.shape) +
                           ", d " + std::to_string(n_features);

  // The formula applied in place to the base quantities, one row and one tile at a time, is what all else must equal.
  std::vector<T> expected(max_rows * max_points);
  Kernel base_only = kernel;
  base_only.shape = Shape::identity;
  const std::vector<T> tiles = to_tiles(problem.points, max_points, n_features);
  for (std::size_t r = 0; r < max_rows; ++r) {
    for (std::size_t p = 0; p < max_points; p += isa::lanes<T>) {
      T* out = expected.data() + r * max_points + p;
      isa::routines<T>().tile(base_only, problem.rows.data() + r * n_features, 1, n_features,
                              tiles.data() + p * n_features, 1, n_features, out, max_points);
      isa::routines<T>().shape(kernel, out, isa::lanes<T>);
    }
  }
  for (const std::size_t n_rows : std::initializer_list<std::size_t>{1, 2, 3, 5, 6, 7, 12, 13, 48}) {
    for (const std::size_t n_tiles : std::initializer_list<std::size_t>{1, 2, 3, 4, 5, 7, 8, 13}) {
      for (const std::size_t padding : std::initializer_list<std::size_t>{0, 1, 16}) {
        const std::vector<T> matrix = kernel_matrix(kernel, problem, n_rows, n_tiles, padding);
        const std::size_t width = n_tiles * isa::lanes<T>;
        std::size_t n_different = matrix.empty() ? 1 : 0;
        for (std::size_t i = 0; i < matrix.size(); ++i) {
          if (!same_bits(matrix[i], expected[i / width * max_points + i % width])) ++n_different;
        }
        check(n_different == 0, what + ": bits for " + std::to_string(n_rows) + " rows, " + std::to_string(n_tiles) +
                                    " tiles, padding " + std::to_string(padding));
      }
    }
  }
  Problem<T> exchanged(max_points, max_rows, n_features);
  exchanged.rows = problem.points;
  exchanged.points = problem.rows;
  for (const std::size_t n_rows : {std::size_t{1}, max_points}) {
    const std::vector<T> columns = kernel_matrix(kernel, exchanged, n_rows, max_rows / isa::lanes<T>, 1);
    std::size_t n_different = columns.empty() ? 1 : 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!same_bits(columns[i], expected[i % max_rows * max_points + i / max_rows])) ++n_different;
    }
    check(n_different == 0, what + ": bits with row and point exchanged, " + std::to_string(n_rows) + " rows");
  }
}

template <class T>
void check_tiles() {
  for (const Base base : {Base::squared_distance, Base::dot, Base::manhattan}) {
    check_base<T>(base);
    for (const Shape shape : {Shape::identity, Shape::exponential, Shape::polynomial, Shape::sigmoid}) {
      for (const std::size_t d : std::initializer_list<std::size_t>{1, 5, 18})
        check_bit_identity<T>({base, shape, 0.3, 0.1, 3}, d);
    }
  }
  const Problem<T> none(7, 2 * isa::lanes<T>, 0);
  const std::vector<T> ones = kernel_matrix<T>({}, none, 7, 2, 0);
  std::size_t n_other = ones.empty() ? 1 : 0;
  for (const T one : ones) n_other += one == T{1} ? 0u : 1u;
  check(n_other == 0, std::string(type_name<T>()) + " gaussian without features is 1");
}

// ---- The score --------------------------------------------------------------------------------------------------

template <class T>
double dot_by_the_rule(const T* values, const double* weights, std::size_t n) {
  double lane[isa::score_lanes] = {};
  for (std::size_t j = 0; j < n; ++j) {
    double& sum = lane[j % isa::score_lanes];
    const double value = static_cast<double>(values[j]);
    const double product = value * weights[j];
    sum = level_has_fma() ? std::fma(value, weights[j], sum) : sum + product;
  }
  for (std::size_t width = isa::score_lanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

template <class T>
void check_pick() {
  constexpr std::size_t n = 64, points = 50;
  const auto values = random_values<T>(points, 5, -1, 1);
  std::vector<std::int32_t> places(n);
  for (std::size_t j = 0; j < n; ++j) places[j] = static_cast<std::int32_t>(j * 37 % points);
  std::vector<T> out(n);
  isa::routines<T>().pick(values.data(), places.data(), out.data(), n);
  for (std::size_t j = 0; j < n; ++j)
    check(same_bits(out[j], values[static_cast<std::size_t>(places[j])]), std::string(type_name<T>()) + " pick");
}

template <class T>
void check_axpy() {
  const std::size_t n = 48;
  const std::vector<T> column = random_values<T>(n, 23, -1, 1);
  std::vector<T> sums = random_values<T>(n, 29, -1, 1), expected = sums;
  for (std::size_t j = 0; j < n; ++j) expected[j] += T(0.37) * column[j];
  isa::routines<T>().axpy(T(0.37), column.data(), sums.data(), n);
  for (std::size_t j = 0; j < n; ++j) check(same_bits(sums[j], expected[j]), std::string(type_name<T>()) + " axpy");
}

template <class T>
void check_dot() {
  for (const std::size_t n : std::initializer_list<std::size_t>{0, 16, 32, 48, 160, 2000, 4096}) {
    const std::vector<T> values = random_values<T>(n, 17, 0, 1);
    const std::vector<double> weights = random_values<double>(n, 19, -1, 1);
    const double score = isa::routines<T>().dot(values.data(), weights.data(), n);
    check(same_bits(score, dot_by_the_rule(values.data(), weights.data(), n)),
          std::string(type_name<T>()) + " dot, n " + std::to_string(n));
    const std::vector<double> others = random_values<double>(n, 31, -1, 1);
    double sums[2];
    isa::routines<T>().dot_pair(values.data(), weights.data(), others.data(), n, sums);
    check(same_bits(sums[0], score) && same_bits(sums[1], dot_by_the_rule(values.data(), others.data(), n)),
          std::string(type_name<T>()) + " dot_pair, n " + std::to_string(n));
  }
}

// One chain for each entry, whatever the number of rows and tiles, and however deep the matrix is.
void check_multiply_tiles() {
  constexpr std::size_t lanes = isa::lanes<double>;
  for (const std::size_t depth : {1, 7, 128, 300})
    for (const std::size_t n_rows : {1, 2, 3, 8, 15, 24})
      for (const std::size_t n_tiles : {1, 2, 3, 7}) {
        const std::size_t x_stride = depth + 3, tile_stride = (depth + 2) * lanes, out_stride = n_tiles * lanes + 8;
        const std::vector<double> x = random_values<double>(n_rows * x_stride, 41, -1, 1),
                                  tiles = random_values<double>(n_tiles * tile_stride, 43, -1, 1);
        std::vector<double> out(n_rows * out_stride, 7.0);
        isa::routines<double>().multiply_tiles(x.data(), n_rows, x_stride, tiles.data(), n_tiles, tile_stride, depth,
                                               out.data(), out_stride);
        bool same = true;
        for (std::size_t r = 0; r < n_rows; ++r)
          for (std::size_t c = 0; c < out_stride; ++c) {
            double expected = c < n_tiles * lanes ? 0.0 : 7.0;
            for (std::size_t j = 0; j < depth && c < n_tiles * lanes; ++j) {
              const double factor = x[r * x_stride + j], term = tiles[c / lanes * tile_stride + j * lanes + c % lanes];
              expected = level_has_fma() ? std::fma(factor, term, expected) : factor * term + expected;
            }
            same = same && same_bits(out[r * out_stride + c], expected);
          }
        check(same, "multiply_tiles, " + std::to_string(n_rows) + " rows, " + std::to_string(n_tiles) +
                        " tiles, depth " + std::to_string(depth));
      }
}

void check_transpose() {
  const std::vector<double> block = random_values<double>(64, 47, -1, 1);
  std::vector<double> out(64);
  isa::routines<double>().transpose(block.data(), out.data());
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t l = 0; l < 8; ++l) check(same_bits(out[l * 8 + i], block[i * 8 + l]), "transpose");
}

void check_reductions() {
  const std::vector<double> ones(96, 1.0);
  for (std::size_t n = 0; n <= 96; ++n) {
    std::vector<double> values = random_values<double>(n, 37, 0, 1), masked(n);
    if (n > 3) values[3] = std::numeric_limits<double>::infinity();
    const double limit = 0.6;
    double least = std::numeric_limits<double>::infinity(), count = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      least = std::min(least, values[j]);
      count += values[j] < limit ? 1.0 : 0.0;
      masked[j] = values[j] < limit ? values[j] : 0.0;
    }
    const std::size_t whole = n / isa::score_lanes * isa::score_lanes;
    double sum = dot_by_the_rule(masked.data(), ones.data(), whole);
    for (std::size_t j = whole; j < n; ++j) sum += masked[j];
    double found_count = -1.0, found_sum = -1.0, largest = -1.0;
    isa::routines<double>().below(limit, values.data(), n, &found_count, &found_sum, &largest);
    const auto found = static_cast<std::size_t>(std::find(values.begin(), values.end(), least) - values.begin());
    check(isa::routines<double>().least(values.data(), n) == (std::isinf(least) ? n : found),
          "least, n " + std::to_string(n));
    const double most = n == 0 ? 0.0 : *std::max_element(masked.begin(), masked.end());
    check(found_count == count && same_bits(found_sum, sum) && largest == most, "below, n " + std::to_string(n));
  }
}

// The first of the least costs, whether the weights come squared or not; NaN is less than nothing.
template <class T>
void check_cheapest(const std::vector<T>& values, const std::vector<double>& units, const std::vector<double>& weights,
                    const std::vector<double>& costs) {
  const std::size_t n = costs.size();
  const std::string where = std::string(type_name<T>()) + ", n " + std::to_string(n);
  const auto found = static_cast<std::size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  double cost = -1.0;
  const auto cheapest = [&](const std::vector<double>& from, bool squared) {
    return isa::routines<T>().cheapest(values.data(), {units.data()}, 0.9, from.data(), squared, n, &cost);
  };
  check(cheapest(weights, false) == found && (n == 0 || same_bits(cost, costs[found])), "cheapest " + where);
  std::vector<double> squares(n);
  for (std::size_t j = 0; j < n; ++j) squares[j] = weights[j] * weights[j];
  check(cheapest(squares, true) == found, "cheapest of squares " + where);
  for (std::size_t j = 0; j < n; ++j) squares[j] = std::numeric_limits<double>::quiet_NaN();
  check(cheapest(squares, true) == n && cost == std::numeric_limits<double>::infinity(), "none is cheapest " + where);
  const std::vector<double> zeros(n);
  check(cheapest(zeros, false) == 0, "the first of equal ones is cheapest " + where);
}

// Sixteen equal units that stand for all give the bits of one unit per index.
template <class T>
void check_equal_units(const std::vector<T>& values, const std::vector<double>& weights) {
  const std::size_t n = weights.size();
  const auto& routines = isa::routines<T>();
  const std::vector<double> each(n, 0.75), all(isa::score_lanes, 0.75);
  std::vector<double> results[2] = {weights, weights};
  double costs[2], sums[2], largest[2];
  std::size_t found[2];
  for (const std::size_t step : {0, 1}) {
    const isa::Units units{step == 0 ? all.data() : each.data(), step};
    std::vector<double>& result = results[step];
    routines.stretch(1.1, 0.3, units, 0.5, result.data(), n);
    result.resize(2 * n);
    routines.weigh(0.7, weights.data(), units, result.data() + n, n, &sums[step], &largest[step]);
    found[step] = routines.cheapest(values.data(), units, 0.9, weights.data(), false, n, &costs[step]);
  }
  check(results[0] == results[1] && same_bits(sums[0], sums[1]) && largest[0] == largest[1] && found[0] == found[1] &&
            same_bits(costs[0], costs[1]),
        "equal units " + std::string(type_name<T>()) + ", n " + std::to_string(n));
}

// Each value of the passes by its formula in isa.hpp, to the bit.
template <class T>
void check_passes() {
  const auto& routines = isa::routines<T>();
  for (std::size_t n = 0; n <= 40; ++n) {
    const std::string where = std::string(type_name<T>()) + ", n " + std::to_string(n);
    const std::vector<T> values = random_values<T>(n, 41, 0, 1);
    const std::vector<double> units = random_values<double>(n, 43, 0.5, 2),
                              products = random_values<double>(n, 47, -1, 1),
                              before = random_values<double>(n, 53, 0, 2);
    std::vector<double> weights = random_values<double>(n, 59, -1, 1);
    if (n > 5) weights[5] = 0.0;
    std::vector<double> squares = before, lengths(n), costs(n), similarities(n), stretched = weights, grown = weights;
    routines.add_squares(0.3, weights.data(), squares.data(), n);
    double sum = -1.0, largest = -1.0;
    routines.weigh(0.7, weights.data(), {units.data()}, lengths.data(), n, &sum, &largest);
    double below_sum = -1.0, below_largest = -1.0, count = -1.0;
    routines.below(std::numeric_limits<double>::infinity(), lengths.data(), n, &count, &below_sum, &below_largest);
    check(same_bits(sum, below_sum) && largest == below_largest, "weigh " + where);
    routines.compare(values.data(), products.data(), before.data(), 0.4, similarities.data(), n);
    routines.stretch(1.1, 0.3, {units.data()}, 0.5, stretched.data(), n);
    routines.stretch(1.1, 0.0, {units.data()}, 0.5, grown.data(), n);
    for (std::size_t j = 0; j < n; ++j) {
      const auto value = static_cast<double>(values[j]);
      const bool alike = products[j] > 0 && products[j] * products[j] > 0.4 * before[j];
      const double longer = 1.1 * std::abs(weights[j]), length = std::min(std::max(longer, 0.3 * units[j]), 0.5);
      check(same_bits(squares[j], before[j] + 0.3 * (weights[j] * weights[j])), "add_squares " + where);
      check(same_bits(lengths[j], 0.7 * std::abs(weights[j]) * units[j]), "weigh " + where);
      costs[j] = (weights[j] * weights[j]) * (units[j] - value * value * 0.9);
      check(same_bits(similarities[j], alike ? value : 0.0), "compare " + where);
      check(same_bits(stretched[j], weights[j] == 0 ? 0.0 : std::copysign(length, weights[j])), "stretch " + where);
      check(same_bits(grown[j], std::copysign(std::min(longer, 0.5), weights[j])), "stretch to no level " + where);
    }
    check_cheapest(values, units, weights, costs);
    check_equal_units(values, weights);
  }
}

// ---- The choice of the level ------------------------------------------------------------------------------------

std::string refusal_of(const char* name) {
  setenv("ONKEL_ISA", name, 1);
  try {
    isa::level();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// Must run before the first successful call of level(), which settles the choice.
void check_refusals() {
  const char* asked = std::getenv("ONKEL_ISA");
  const std::optional<std::string> kept = asked ? std::optional<std::string>(asked) : std::nullopt;
  check(refusal_of("avx9").find("ONKEL_ISA=avx9 is unknown") == 0, "an unknown ONKEL_ISA is refused");
#if defined(__x86_64__)
  check(refusal_of("neon").find("ONKEL_ISA=neon asks for") == 0, "neon is refused on x86");
#endif
  if (kept) {
    setenv("ONKEL_ISA", kept->c_str(), 1);
  } else {
    unsetenv("ONKEL_ISA");
  }
}

}  // namespace

int main() try {
  check_refusals();
  std::printf("level %s\n", isa::level().name);
  check_formulas<float>();
  check_formulas<double>();
  check_extremes<float>();
  check_extremes<double>();
  check_tiles<float>();
  check_tiles<double>();
  check_dot<float>();
  check_dot<double>();
  check_axpy<float>();
  check_axpy<double>();
  check_pick<float>();
  check_pick<double>();
  check_multiply_tiles();
  check_transpose();
  check_reductions();
  check_passes<float>();
  check_passes<double>();
  std::printf("%d passed, %d failed\n", n_passed, n_failed);
  return n_failed == 0 ? 0 : 1;
} catch (const std::runtime_error& error) {
  std::printf("FAILED: %s\n%d passed, %d failed\n", error.what(), n_passed, n_failed + 1);
  return 1;
}
