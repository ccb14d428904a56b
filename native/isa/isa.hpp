// The few routines worth compiling once per instruction set: kernel tiles and the score's dot product.
//
// Points are stored in tiles of 64 bytes per feature: tile[feature][lane], 16 lanes of float or 8 of double, the same
// for every instruction set, so that a model's layout does not depend on the machine. Each pair's value is computed by
// one chain (features in ascending order, one accumulator) whatever the shape of the call: a row alone, a block of
// rows, and a column computed with row and point exchanged give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onkel {

// What a pair of rows is reduced to before the kernel's own formula is applied.
enum class Base { squared_distance, dot, manhattan };
inline constexpr Base bases[] = {Base::squared_distance, Base::dot, Base::manhattan};
inline constexpr std::size_t n_bases = 3;

// The kernel's formula, applied to the base quantity q.
enum class Shape {
  identity,     // q itself (linear kernel; the shared base table of several kernels)
  exponential,  // exp(-gamma q), gamma >= 0: gaussian on squared_distance, laplacian on manhattan
  polynomial,   // (gamma q + coef0)^degree
  sigmoid       // tanh(gamma q + coef0)
};

struct Kernel {
  Base base = Base::squared_distance;
  Shape shape = Shape::exponential;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 1;
};
// The kernels by their names in Python; each takes the parameters that its formula has.
struct NamedKernel {
  const char* name;
  Base base;
  Shape shape;
};
inline constexpr NamedKernel named_kernels[] = {
    {"rbf", Base::squared_distance, Shape::exponential},
    {"laplacian", Base::manhattan, Shape::exponential},
    {"linear", Base::dot, Shape::identity},
    {"poly", Base::dot, Shape::polynomial},
    {"sigmoid", Base::dot, Shape::sigmoid},
};
// The base quantity itself.
inline constexpr Kernel identity_kernel(Base base) { return {base, Shape::identity, 1.0, 0.0, 1}; }

namespace isa {

inline constexpr std::size_t tile_bytes = 64;
template <class T>
inline constexpr std::size_t lanes = tile_bytes / sizeof(T);
// Scores are summed in 16 lanes (column mod 16) whatever the type, so columns come in multiples of 16.
inline constexpr std::size_t score_lanes = 16;
// A multiple of the number of tiles that any level processes at once, so that pieces of this size leave no remainder.
inline constexpr std::size_t tiles_at_once = 12;

// A number for each index, or with step 0 the same score_lanes numbers, all equal, for every index: they stay in the
// first-level cache.
struct Units {
  const double* values;
  std::size_t step = 1;
  Units from(std::size_t index) const { return {values + index * step, step}; }
  double operator[](std::size_t index) const { return values[index * step]; }
};

template <class T>
struct Routines {
  // out[r * out_stride + tile * lanes<T> + lane] = kernel(row r, point (tile, lane)).
  void (*tile)(const Kernel& kernel, const T* rows, std::size_t n_rows, std::size_t row_stride, const T* tiles,
               std::size_t n_tiles, std::size_t n_features, T* out, std::size_t out_stride);
  // The kernel's formula alone, in place, over n base quantities (n a multiple of lanes<T>).
  void (*shape)(const Kernel& kernel, T* values, std::size_t n);
  // sum_j values[j] * weights[j] in double: lane j mod 16, then a fixed tree. n is a multiple of 16.
  double (*dot)(const T* values, const double* weights, std::size_t n);
  // The same with two sets of weights at once: the values are loaded and widened once.
  void (*dot_pair)(const T* values, const double* first, const double* second, std::size_t n, double sums[2]);
  // sums[j] += x * column[j], on every level a product and an addition, not fused (n a multiple of lanes<T>).
  void (*axpy)(T x, const T* column, T* sums, std::size_t n);
  // sums[j] <- (norm + norms[j]) - share * sums[j], share a power of 2 (n a multiple of 16): distances from sums over
  // the features that two rows share. Returns whether one of them lost more than four bits by cancellation, or all of
  // them (a NaN, where it overflows).
  bool (*distances)(T norm, const T* norms, T share, T* sums, std::size_t n);
  // out[j] = values[places[j]] (n a multiple of 16).
  void (*pick)(const T* values, const std::int32_t* places, T* out, std::size_t n);
  // Rows, n apart, of a symmetric matrix of which one half is stored. Multiply-adds are fused where the level has the
  // instruction; n is a multiple of 16. Multiplying two: dots[r] = row_r . weights, and sums[j] += x[0] * row_0[j] +
  // x[1] * row_1[j], in one pass.
  void (*multiply_rows)(const double* rows, const double* weights, const double* x, double* dots, double* sums,
                        std::size_t n);
  // Updating four rows: row_r[j] += sum_t x[t][r] u[t][j], t < m ascending; x has rows of 4 values, u of u_stride.
  void (*update_rows)(const double* x, const double* u, std::size_t u_stride, std::size_t m, double* rows,
                      std::size_t n);
  // Symmetric updates of rank m, for one tile of 8 columns: tile[i][lane] += sum_j x[i][j] y[j][lane], j < m ascending,
  // fused; x has rows of x_stride values, y of y_stride, and n (the number of rows of the tile) is a multiple of 8.
  void (*add_products)(const double* x, const double* y, std::size_t y_stride, std::size_t m, std::size_t x_stride,
                       double* tile, std::size_t n);
  // Products with a matrix whose columns are tiles, tile_stride values apart: out[r][tile][lane] = sum_j x[r][j]
  // tile[j][lane], j < m ascending, fused; x has rows of x_stride values, out of out_stride.
  void (*multiply_tiles)(const double* x, std::size_t n_rows, std::size_t x_stride, const double* tiles,
                         std::size_t n_tiles, std::size_t tile_stride, std::size_t m, double* out,
                         std::size_t out_stride);
  // out[lane][i] = tile[i][lane], i < 8: a block on one side of a symmetric matrix's diagonal becomes that on the
  // other.
  void (*transpose)(const double* block, double* out);
  // sums[j] += sum_k weights[k] |x[j] - rows[k][j]|, k < m, fused where the level has it; m and n (the length of a row)
  // are multiples of 8.
  void (*weigh_differences)(const double* weights, std::size_t m, const double* x, const double* rows, double* sums,
                            std::size_t n);
  // The passes of evictions over all points, for any n, with nothing fused. The index of the smallest of n values, the
  // first of equal ones; n where all are infinite or NaN.
  std::size_t (*least)(const double* values, std::size_t n);
  // squares[j] += unit * weights[j]^2
  void (*add_squares)(double unit, const double* weights, double* squares, std::size_t n);
  // lengths[j] = scale * |weights[j]| * units[j], their sum (lanes as in dot, the remainder after them) and the largest
  // of them, 0 where there is none.
  void (*weigh)(double scale, const double* weights, Units units, double* lengths, std::size_t n, double* sum,
                double* largest);
  // The cost of projecting a point on one whose kernel with itself is 1 / inverse: weights[j]^2 * (diagonal[j] -
  // values[j]^2 * inverse), where the weights may come squared. The index of the least cost, the first of equal ones;
  // n, and an infinite cost, where all are infinite or NaN.
  std::size_t (*cheapest)(const T* values, Units diagonal, double inverse, const double* weights, bool squared,
                          std::size_t n, double* cost);
  // similarities[j] = values[j] where products[j] is positive and its square above least * squares[j], 0 elsewhere.
  void (*compare)(const T* values, const double* products, const double* squares, double least, double* similarities,
                  std::size_t n);
  // |weights[j]| becomes factor times that, but no less than level * units[j], and no more than cap. Zeros stay.
  void (*stretch)(double factor, double level, Units units, double cap, double* weights, std::size_t n);
  // How many of n values are below a limit, their sum (lanes as in dot, the remainder after them), and the largest of
  // them, 0 where there is none; values are not negative.
  void (*below)(double limit, const double* values, std::size_t n, double* count, double* sum, double* largest);
  // n multiply-adds of T on independent chains (n a multiple of 192): the yardstick of the benchmarks.
  double (*fma_peak)(std::size_t n);
};

struct Level {
  const char* name;  // "baseline", "x86-64-v3", "x86-64-v4", "neon"
  Routines<float> f32;
  Routines<double> f64;
};

// The level in use: chosen once, the best that the processor has; x86-64-v4 with AVX512_VBMI2, or if ONKEL_ISA asks.
// An ONKEL_ISA that is unknown, or that this processor lacks, throws std::runtime_error with a sentence.
const Level& level();

// Whether more than four bits of `sum` are lost by cancellation in the remaining difference, or all of them.
template <class T>
constexpr bool cancels(T left, T sum) {
  return !(left >= T(0.0625) * sum);
}

template <class T>
const Routines<T>& routines();
template <>
inline const Routines<float>& routines<float>() {
  return level().f32;
}
template <>
inline const Routines<double>& routines<double>() {
  return level().f64;
}

}  // namespace isa
}  // namespace onkel
