// The routines of isa.hpp, compiled once per instruction set with -DONKEL_ISA_LEVEL=baseline|v3|v4|neon.
//
// The object exports one symbol, onkel::isa::level_<ONKEL_ISA_LEVEL>; everything else has internal linkage and nothing
// of the standard library is instantiated, so no weak symbol can carry new instructions into a program that chose the
// baseline. Compile with -O3 -ffp-contract=off: every fused multiply-add is written explicitly.

#include <bit>

#include "isa/isa.hpp"
#include "isa/simd.hpp"

#define ONKEL_JOIN_EXPANDED(a, b) a##b
#define ONKEL_JOIN(a, b) ONKEL_JOIN_EXPANDED(a, b)
#define ONKEL_LEVEL_OBJECT ONKEL_JOIN(level_, ONKEL_ISA_LEVEL)

namespace onkel::isa {

extern const Level ONKEL_LEVEL_OBJECT;

namespace {

// ---- 2^r --------------------------------------------------------------------------------------------------------

// (2^r - 1) / r on [-1/2, 1/2], lowest power first: the relative minimax polynomial, each coefficient rounded to the
// type in turn and the rest fitted again. With c0 = 1 outside the table 2^0 is exactly 1, and 2^r - 1 keeps its
// relative accuracy near 0, which tanh needs.
template <class T>
struct Exp2;

template <>
struct Exp2<float> {
  // Relative error 1.3e-8 as fitted, 5.3e-9 (0.09 ulp) in 2^r.
  static constexpr float coefficients[] = {0x1.62e43p-1f,  0x1.ebfbdep-3f, 0x1.c6afa4p-5f,
                                           0x1.3b2c36p-7f, 0x1.5ef14p-10f, 0x1.429e6p-13f};
  static constexpr int mantissa_bits = 23;
  static constexpr int exponent_bias = 127;
  // Adding this rounds to an integer, and leaves that integer plus the exponent's bias in the lowest bits.
  static constexpr float rounder = 0x1.8p23f + 127.0f;
  static constexpr float largest = 0x1.fffffep127f;
};

template <>
struct Exp2<double> {
  // Relative error 3.3e-17 as fitted, 1.3e-17 (0.12 ulp) in 2^r.
  static constexpr double coefficients[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58ep-3,  0x1.c6b08d704a1ecp-5,
                                            0x1.3b2ab6fba3e71p-7,  0x1.5d87fe7879d16p-10, 0x1.430913027e05fp-13,
                                            0x1.ffcbfcffdedf1p-17, 0x1.62bfe63903aacp-20, 0x1.b5241a55c53fap-24,
                                            0x1.e5e7b1f290656p-28, 0x1.eab59605c317fp-32};
  static constexpr int mantissa_bits = 52;
  static constexpr int exponent_bias = 1023;
  static constexpr double rounder = 0x1.8p52 + 1023.0;
  static constexpr double largest = 0x1.fffffffffffffp1023;
};

// N independent vectors go through each step together: their chains are long, and the out-of-order window of a
// processor is limited.
template <class T, std::size_t N>
ONKEL_INLINE void exp2_slope(const typename Simd<T>::Vector (&r)[N], typename Simd<T>::Vector (&slope)[N]) {
  constexpr int degree = sizeof(Exp2<T>::coefficients) / sizeof(T) - 1;
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) slope[i] = Simd<T>::broadcast(Exp2<T>::coefficients[degree]);
  ONKEL_UNROLL
  for (int power = degree - 1; power >= 0; --power) {
    const auto coefficient = Simd<T>::broadcast(Exp2<T>::coefficients[power]);
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) slope[i] = multiply_add(slope[i], r[i], coefficient);
  }
}

// A factor in two parts, high + low, so that factor * q loses nothing when the fraction of a large exponent is taken.
template <class T>
struct Factor {
  T high;
  T low;
};

// factor * log2(e) to twice the precision of T.
template <class T>
Factor<T> times_log2e(double factor) {
  constexpr double log2e = 0x1.71547652b82fep0;
  constexpr double log2e_rest = 0x1.777d0ffda0d24p-56;
  const double high = factor * log2e;
  const double low = __builtin_fma(factor, log2e, -high) + factor * log2e_rest;
  const T rounded = static_cast<T>(high);
  return {rounded, static_cast<T>((high - static_cast<double>(rounded)) + low)};
}

// factor * q = n + r, n an integer and |r| <= 1/2: scale = 2^n, fraction = r.
template <class T, std::size_t N>
ONKEL_INLINE void split_exponent(Factor<T> factor, const typename Simd<T>::Vector (&q)[N],
                                 typename Simd<T>::Vector (&scale)[N], typename Simd<T>::Vector (&fraction)[N]) {
  typedef Simd<T> S;
  const auto high = S::broadcast(factor.high);
  const auto low = S::broadcast(factor.low);
  const auto rounder = S::broadcast(Exp2<T>::rounder);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) scale[i] = multiply_add(high, q[i], rounder);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) fraction[i] = multiply_add(high, q[i], rounder - scale[i]);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) fraction[i] = multiply_add(low, q[i], fraction[i]);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) scale[i] = S::from_bits(S::to_bits(scale[i]) << Exp2<T>::mantissa_bits);
}

// ---- The kernels' formulas --------------------------------------------------------------------------------------

// ONKEL_CALL: called rather than inlined into every block. These formulas are long, so the call is a small part of
// their cost.

template <class T, Shape shape>
class Formula;

template <class T>
class Formula<T, Shape::identity> {
 public:
  typedef typename Simd<T>::Vector Vector;
  explicit Formula(const Kernel&) {}
  template <std::size_t N>
  ONKEL_INLINE void apply(Vector (&)[N]) const {}
};

// exp(-gamma q) = 2^n 2^r. Results below the smallest normal number (to 1 part in 10^5) are 0; beyond the largest, inf.
template <class T>
class Formula<T, Shape::exponential> {
 public:
  typedef Simd<T> S;
  typedef typename S::Vector Vector;

  explicit Formula(const Kernel& kernel)
      : factor_(times_log2e<T>(-kernel.gamma)),
        zero_above_(bound(kernel.gamma, (Exp2<T>::exponent_bias - 1) * (1 - 1e-7))),
        inf_below_(-bound(kernel.gamma, Exp2<T>::exponent_bias + 1)) {}

  template <std::size_t N>
  ONKEL_INLINE void apply(Vector (&q)[N]) const {
    Vector bounded[N], scale[N], fraction[N], slope[N];
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) bounded[i] = S::at_least(q[i], S::broadcast(inf_below_));
    split_exponent<T, N>(factor_, bounded, scale, fraction);
    exp2_slope<T, N>(fraction, slope);
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
      const Vector power = multiply_add(slope[i], fraction[i], S::broadcast(T{1}));
      q[i] = S::zero_where_above(power * scale[i], q[i], S::broadcast(zero_above_));
    }
  }

 private:
  // The q whose exponent is `exponent` in base 2; finite, so that an infinite q lies beyond it.
  static T bound(double gamma, double exponent) {
    constexpr double ln2 = 0x1.62e42fefa39efp-1;
    const double q = exponent * ln2 / gamma;
    return q < static_cast<double>(Exp2<T>::largest) ? static_cast<T>(q) : Exp2<T>::largest;
  }

  Factor<T> factor_;
  T zero_above_;
  T inf_below_;
};

// (gamma q + coef0)^degree by binary powering.
template <class T>
class Formula<T, Shape::polynomial> {
 public:
  typedef Simd<T> S;
  typedef typename S::Vector Vector;

  explicit Formula(const Kernel& kernel)
      : gamma_(static_cast<T>(kernel.gamma)),
        coef0_(static_cast<T>(kernel.coef0)),
        degree_(kernel.degree > 0 ? static_cast<unsigned>(kernel.degree) : 0u) {}

  template <std::size_t N>
  ONKEL_INLINE void apply(Vector (&q)[N]) const {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) q[i] = power_of(q[i]);
  }

 private:
  ONKEL_CALL Vector power_of(Vector q) const {
    Vector square = multiply_add(S::broadcast(gamma_), q, S::broadcast(coef0_));
    Vector power = S::broadcast(T{1});
    for (unsigned rest = degree_; rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) power *= square;
      square *= square;
    }
    return power;
  }

  T gamma_;
  T coef0_;
  unsigned degree_;
};

// tanh(y) = sign(y) * -e / (2 + e), e = exp(-2|y|) - 1 = 2^n (2^r - 1) + (2^n - 1), accurate where e is near 0 too.
template <class T>
class Formula<T, Shape::sigmoid> {
 public:
  typedef Simd<T> S;
  typedef typename S::Vector Vector;

  explicit Formula(const Kernel& kernel)
      : gamma_(static_cast<T>(kernel.gamma)), coef0_(static_cast<T>(kernel.coef0)), factor_(times_log2e<T>(-2.0)) {}

  template <std::size_t N>
  ONKEL_INLINE void apply(Vector (&q)[N]) const {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) q[i] = tanh_of(q[i]);
  }

 private:
  ONKEL_CALL Vector tanh_of(Vector q) const {
    const Vector y = multiply_add(S::broadcast(gamma_), q, S::broadcast(coef0_));
    // exp(-40) is lost in 1 - exp(-40) for both types, so from 20 on the result is exactly 1.
    const Vector magnitude[1] = {S::at_most(S::absolute(y), S::broadcast(T{20}))};
    Vector scale[1], fraction[1], slope[1];
    split_exponent<T, 1>(factor_, magnitude, scale, fraction);
    exp2_slope<T, 1>(fraction, slope);
    const Vector e = multiply_add(scale[0], slope[0] * fraction[0], scale[0] - S::broadcast(T{1}));
    const Vector tanh = -e / (e + S::broadcast(T{2}));
    return S::from_bits(S::to_bits(S::absolute(tanh)) | (S::to_bits(y) & S::sign_bit));
  }

  T gamma_;
  T coef0_;
  Factor<T> factor_;
};

// ---- Tiles ------------------------------------------------------------------------------------------------------

template <class T>
struct TileCall {
  const T* rows;
  std::size_t n_rows;
  std::size_t row_stride;
  const T* tiles;
  std::size_t n_tiles;
  std::size_t n_features;
  T* out;
  std::size_t out_stride;
};

constexpr std::size_t vectors_per_tile = tile_bytes / vector_bytes;

// One more feature of one pair: the only step of a pair's chain, whatever the shape of the block it is computed in.
template <class T, Base base>
ONKEL_INLINE typename Simd<T>::Vector add_feature(typename Simd<T>::Vector sum, typename Simd<T>::Vector x,
                                                  typename Simd<T>::Vector s) {
  if constexpr (base == Base::squared_distance) {
    const auto difference = x - s;
    return multiply_add(difference, difference, sum);
  } else if constexpr (base == Base::dot) {
    return multiply_add(x, s, sum);
  } else {
    return sum + Simd<T>::absolute(x - s);
  }
}

// How many of n sums go through the formula together, which leaves the formula enough registers.
constexpr std::size_t formula_group(std::size_t n) { return n % 4 == 0 ? 4 : n; }

// The micro-kernel: R rows against V vectors of points, which begin at `points` and run over as many tiles as needed.
template <class T, Base base, Shape shape, std::size_t R, std::size_t V>
ONKEL_INLINE void block(const TileCall<T>& call, const Formula<T, shape>& formula, const T* rows, const T* points,
                        T* out) {
  typedef Simd<T> S;
  const std::size_t tile_size = call.n_features * lanes<T>;
  typename S::Vector sums[R * V];
  ONKEL_UNROLL
  for (std::size_t i = 0; i < R * V; ++i) sums[i] = typename S::Vector{};
  for (std::size_t feature = 0; feature < call.n_features; ++feature) {
    typename S::Vector s[V];
    ONKEL_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
      s[v] = S::load(points + feature * lanes<T> + v / vectors_per_tile * tile_size + v % vectors_per_tile * S::size);
    }
    ONKEL_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
      const auto x = S::broadcast(rows[r * call.row_stride + feature]);
      ONKEL_UNROLL
      for (std::size_t v = 0; v < V; ++v) sums[r * V + v] = add_feature<T, base>(sums[r * V + v], x, s[v]);
    }
  }
  constexpr std::size_t group_size = formula_group(R * V);
  ONKEL_UNROLL
  for (std::size_t first = 0; first < R * V; first += group_size) {
    typename S::Vector group[group_size];
    ONKEL_UNROLL
    for (std::size_t i = 0; i < group_size; ++i) group[i] = sums[first + i];
    formula.apply(group);
    ONKEL_UNROLL
    for (std::size_t i = 0; i < group_size; ++i) {
      S::store(out + (first + i) / V * call.out_stride + (first + i) % V * S::size, group[i]);
    }
  }
}

// Rows [first_row, last_row), R at a time, against the vectors of points from first_vector on, V at a time, with fewer
// at the end. The tiles are the outer loop: those of one step stay in the first-level cache while the rows pass by.
// call and formula come by value: as far as the compiler knows, the stores could change what a reference refers to.
template <class T, Base base, Shape shape, std::size_t R, std::size_t V>
void sweep(const TileCall<T> call, const Formula<T, shape> formula, std::size_t first_row, std::size_t last_row,
           std::size_t first_vector) {
  const std::size_t n_vectors = call.n_tiles * vectors_per_tile;
  std::size_t vector = first_vector;
  for (; vector + V <= n_vectors; vector += V) {
    const T* points =
        call.tiles + vector / vectors_per_tile * call.n_features * lanes<T> + vector % vectors_per_tile * Simd<T>::size;
    for (std::size_t row = first_row; row < last_row; row += R) {
      block<T, base, shape, R, V>(call, formula, call.rows + row * call.row_stride, points,
                                  call.out + row * call.out_stride + vector * Simd<T>::size);
    }
  }
  if constexpr (V > vectors_per_tile) {
    sweep<T, base, shape, R, V / 2>(call, formula, first_row, last_row, vector);
  }
}

// The sums held in registers: 6 rows x 2 vectors fill 16 registers (with 2 points, a row and a difference), 6 x 4 the
// 32 of NEON and 4 x 6 the 32 of AVX-512, where a row's broadcast costs more than a point's load: of 6 x 2, 8 x 3, 12 x
// 2, 24 x 1, 6 x 4 and 3 x 8 none was faster in both types. Fewer rows take more vectors, so that there are 8
// independent sums here too.
#if defined(__AVX512F__)
inline constexpr std::size_t block_rows = 4, block_vectors = 6;
#elif defined(__aarch64__)
inline constexpr std::size_t block_rows = 6, block_vectors = 4;
#else
inline constexpr std::size_t block_rows = 6, block_vectors = 2;
#endif

template <class T, Base base, Shape shape>
void tile_of(const Kernel& kernel, const TileCall<T>& call) {
  const Formula<T, shape> formula(kernel);
  const std::size_t in_blocks = call.n_rows / block_rows * block_rows;
  const std::size_t in_fours = in_blocks + ((call.n_rows - in_blocks) & 4);
  const std::size_t in_twos = in_fours + ((call.n_rows - in_fours) & 2);
  if (in_blocks > 0) sweep<T, base, shape, block_rows, block_vectors>(call, formula, 0, in_blocks, 0);
  if (in_fours > in_blocks) sweep<T, base, shape, 4, block_vectors>(call, formula, in_blocks, in_fours, 0);
  if (in_twos > in_fours) sweep<T, base, shape, 2, 4>(call, formula, in_fours, in_twos, 0);
  if (call.n_rows > in_twos) sweep<T, base, shape, 1, 8>(call, formula, in_twos, call.n_rows, 0);
}

template <class T, Base base>
void tile_on(const Kernel& kernel, const TileCall<T>& call) {
  switch (kernel.shape) {
    case Shape::identity:
      return tile_of<T, base, Shape::identity>(kernel, call);
    case Shape::exponential:
      return tile_of<T, base, Shape::exponential>(kernel, call);
    case Shape::polynomial:
      return tile_of<T, base, Shape::polynomial>(kernel, call);
    case Shape::sigmoid:
      return tile_of<T, base, Shape::sigmoid>(kernel, call);
  }
}

template <class T>
void tile(const Kernel& kernel, const T* rows, std::size_t n_rows, std::size_t row_stride, const T* tiles,
          std::size_t n_tiles, std::size_t n_features, T* out, std::size_t out_stride) {
  const TileCall<T> call = {rows, n_rows, row_stride, tiles, n_tiles, n_features, out, out_stride};
  switch (kernel.base) {
    case Base::squared_distance:
      return tile_on<T, Base::squared_distance>(kernel, call);
    case Base::dot:
      return tile_on<T, Base::dot>(kernel, call);
    case Base::manhattan:
      return tile_on<T, Base::manhattan>(kernel, call);
  }
}

// ---- The formula alone, the score, the peak ---------------------------------------------------------------------

template <class T, Shape shape>
void apply(const Kernel& kernel, T* values, std::size_t n) {
  const Formula<T, shape> formula(kernel);
  typename Simd<T>::Vector group[vectors_per_tile];
  for (std::size_t i = 0; i < n; i += lanes<T>) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < vectors_per_tile; ++v) group[v] = Simd<T>::load(values + i + v * Simd<T>::size);
    formula.apply(group);
    ONKEL_UNROLL
    for (std::size_t v = 0; v < vectors_per_tile; ++v) Simd<T>::store(values + i + v * Simd<T>::size, group[v]);
  }
}

template <class T>
void shape(const Kernel& kernel, T* values, std::size_t n) {
  switch (kernel.shape) {
    case Shape::identity:
      return;
    case Shape::exponential:
      return apply<T, Shape::exponential>(kernel, values, n);
    case Shape::polynomial:
      return apply<T, Shape::polynomial>(kernel, values, n);
    case Shape::sigmoid:
      return apply<T, Shape::sigmoid>(kernel, values, n);
  }
}

// Lane i adds lane i + 8, then i + 4, i + 2 and i + 1 of the remaining lanes.
ONKEL_INLINE double add_lanes(Simd<double>::Vector (&sums)[score_lanes / Simd<double>::size]) {
  typedef Simd<double> S;
  ONKEL_UNROLL
  for (std::size_t width = score_lanes / S::size / 2; width > 0; width /= 2) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < width; ++v) sums[v] += sums[v + width];
  }
  double lane[S::size];
  S::store(lane, sums[0]);
  ONKEL_UNROLL
  for (std::size_t width = S::size / 2; width > 0; width /= 2) {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

// Lane j mod 16 adds its terms in ascending j; then add_lanes.
template <class T, std::size_t n_sets>
ONKEL_INLINE void dot_sets(const T* values, const double* const* weights, std::size_t n, double* out) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector sums[n_sets][n_vectors];
  ONKEL_UNROLL
  for (std::size_t s = 0; s < n_sets; ++s) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) sums[s][v] = S::Vector{};
  }
  for (std::size_t j = 0; j < n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const std::size_t first = j + v * S::size;
      const S::Vector value = load_as_double(values + first);
      ONKEL_UNROLL
      for (std::size_t s = 0; s < n_sets; ++s)
        sums[s][v] = multiply_add(value, S::load(weights[s] + first), sums[s][v]);
    }
  }
  ONKEL_UNROLL
  for (std::size_t s = 0; s < n_sets; ++s) out[s] = add_lanes(sums[s]);
}

template <class T>
double dot(const T* values, const double* weights, std::size_t n) {
  double sum;
  dot_sets<T, 1>(values, &weights, n, &sum);
  return sum;
}

template <class T>
void dot_pair(const T* values, const double* first, const double* second, std::size_t n, double sums[2]) {
  const double* const weights[] = {first, second};
  dot_sets<T, 2>(values, weights, n, sums);
}

// Two rows at a time halve the loads of the vectors that they share, which are the bottleneck. Lanes as in dot.
void multiply_rows(const double* rows, const double* weights, const double* x, double* dots, double* target,
                   std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector first_sums[n_vectors], second_sums[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) first_sums[v] = second_sums[v] = S::Vector{};
  const auto first_factor = S::broadcast(x[0]), second_factor = S::broadcast(x[1]);
  for (std::size_t j = 0; j < n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const std::size_t at = j + v * S::size;
      const auto first = S::load(rows + at), second = S::load(rows + n + at), weight = S::load(weights + at);
      first_sums[v] = multiply_add(first, weight, first_sums[v]);
      second_sums[v] = multiply_add(second, weight, second_sums[v]);
      const auto sum = multiply_add(first_factor, first, S::load(target + at));
      S::store(target + at, multiply_add(second_factor, second, sum));
    }
  }
  dots[0] = add_lanes(first_sums);
  dots[1] = add_lanes(second_sums);
}

// 4 rows by 2 vectors stay in registers while the m terms are added.
void update_rows(const double* x, const double* u, std::size_t u_stride, std::size_t m, double* rows, std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_rows = 4, n_vectors = 2;
  for (std::size_t j = 0; j < n; j += n_vectors * S::size) {
    S::Vector sums[n_rows][n_vectors];
    ONKEL_UNROLL
    for (std::size_t r = 0; r < n_rows; ++r) {
      ONKEL_UNROLL
      for (std::size_t v = 0; v < n_vectors; ++v) sums[r][v] = S::load(rows + r * n + j + v * S::size);
    }
    for (std::size_t t = 0; t < m; ++t) {
      S::Vector term[n_vectors];
      ONKEL_UNROLL
      for (std::size_t v = 0; v < n_vectors; ++v) term[v] = S::load(u + t * u_stride + j + v * S::size);
      ONKEL_UNROLL
      for (std::size_t r = 0; r < n_rows; ++r) {
        const auto factor = S::broadcast(x[t * n_rows + r]);
        ONKEL_UNROLL
        for (std::size_t v = 0; v < n_vectors; ++v) sums[r][v] = multiply_add(factor, term[v], sums[r][v]);
      }
    }
    ONKEL_UNROLL
    for (std::size_t r = 0; r < n_rows; ++r) {
      ONKEL_UNROLL
      for (std::size_t v = 0; v < n_vectors; ++v) S::store(rows + r * n + j + v * S::size, sums[r][v]);
    }
  }
}

double least_value(const double* values, std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector lanes[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) lanes[v] = S::broadcast(__builtin_inf());
  std::size_t j = 0;
  for (; j + score_lanes <= n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) lanes[v] = S::at_most(lanes[v], S::load(values + j + v * S::size));
  }
  double found = __builtin_inf();
  for (; j < n; ++j) found = values[j] < found ? values[j] : found;
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < S::size; ++i) found = lanes[v][i] < found ? lanes[v][i] : found;
  }
  return found;
}

// Finds the smallest value first, then skips groups until one contains it.
std::size_t least(const double* values, std::size_t n) {
  constexpr std::size_t group = 64;
  const double found = least_value(values, n);
  if (found == __builtin_inf()) return n;
  std::size_t j = 0;
  for (; j + group <= n; j += group) {
    std::uint64_t hits = 0;
    for (std::size_t i = 0; i < group; ++i) hits |= values[j + i] == found ? 1 : 0;
    if (hits != 0) break;
  }
  while (values[j] != found) ++j;
  return j;
}

// Loops that the compiler vectorises for the level by itself.
void add_squares(double unit, const double* __restrict weights, double* __restrict squares, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) squares[j] += unit * (weights[j] * weights[j]);
}

template <class T>
void compare(const T* __restrict values, const double* __restrict products, const double* __restrict squares,
             double least, double* __restrict similarities, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    const double alike = products[j] * products[j] > least * squares[j] ? static_cast<double>(values[j]) : 0.0;
    similarities[j] = products[j] > 0 ? alike : 0.0;
  }
}

// Not left to the compiler: it masks what need not be masked.
void stretch(double factor, double level, Units units, double cap, double* weights, std::size_t n) {
  typedef Simd<double> S;
  const auto growth = S::broadcast(factor), lowest = S::broadcast(level), highest = S::broadcast(cap);
  std::size_t j = 0;
  for (; j + S::size <= n; j += S::size) {
    const auto weight = S::load(weights + j);
    const auto wanted = growth * S::absolute(weight), least = lowest * S::load(units.values + j * units.step);
    const auto length = S::at_most(S::at_least(wanted, least), highest);
    const auto is_not_zero = reinterpret_cast<S::Bits>(weight != S::Vector{});
    S::store(weights + j, S::from_bits((S::to_bits(length) & is_not_zero) | (S::to_bits(weight) & S::sign_bit)));
  }
  for (; j < n; ++j) {
    const double wanted = factor * __builtin_fabs(weights[j]), least = level * units[j];
    const double raised = wanted < least ? least : wanted;
    if (weights[j] != 0) weights[j] = __builtin_copysign(raised > cap ? cap : raised, weights[j]);
  }
}

double largest_lane(const Simd<double>::Vector (&lanes)[score_lanes / Simd<double>::size]) {
  typedef Simd<double> S;
  auto largest = lanes[0];
  ONKEL_UNROLL
  for (std::size_t v = 1; v < score_lanes / S::size; ++v) largest = S::at_least(largest, lanes[v]);
  double found = 0.0;
  ONKEL_UNROLL
  for (std::size_t i = 0; i < S::size; ++i) found = largest[i] > found ? largest[i] : found;
  return found;
}

void weigh(double scale, const double* __restrict weights, Units units, double* __restrict lengths, std::size_t n,
           double* sum, double* largest) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector sums[n_vectors], maxima[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) sums[v] = maxima[v] = S::Vector{};
  const auto factor = S::broadcast(scale);
  std::size_t j = 0;
  for (; j + score_lanes <= n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const std::size_t at = j + v * S::size;
      const auto length = factor * S::absolute(S::load(weights + at)) * S::load(units.values + at * units.step);
      S::store(lengths + at, length);
      sums[v] += length;
      maxima[v] = S::at_least(maxima[v], length);
    }
  }
  *sum = add_lanes(sums);
  *largest = largest_lane(maxima);
  for (; j < n; ++j) {
    lengths[j] = scale * __builtin_fabs(weights[j]) * units[j];
    *sum += lengths[j];
    *largest = lengths[j] > *largest ? lengths[j] : *largest;
  }
}

// The least cost of each lane and its index, as a number: the index stays exact up to 2^53.
template <class T, bool squared>
ONKEL_INLINE std::size_t cheapest_of(const T* values, Units diagonal, double inverse, const double* weights,
                                     std::size_t n, double* cost) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector least[n_vectors], places[n_vectors], place[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) {
    least[v] = S::broadcast(__builtin_inf());
    ONKEL_UNROLL
    for (std::size_t i = 0; i < S::size; ++i) place[v][i] = static_cast<double>(v * S::size + i);
    places[v] = place[v];
  }
  const auto factor = S::broadcast(inverse), step = S::broadcast(static_cast<double>(score_lanes));
  std::size_t j = 0;
  for (; j + score_lanes <= n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const std::size_t at = j + v * S::size;
      const auto value = load_as_double(values + at), weight = S::load(weights + at);
      const auto here = (squared ? weight : weight * weight) *
                        (S::load(diagonal.values + at * diagonal.step) - value * value * factor);
      places[v] = here < least[v] ? place[v] : places[v];
      least[v] = S::at_most(least[v], here);
      place[v] += step;
    }
  }
  double found = __builtin_inf(), where = static_cast<double>(n);
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < S::size; ++i) {
      if (least[v][i] < found || (least[v][i] == found && places[v][i] < where && found < __builtin_inf()))
        where = places[v][i];
      found = least[v][i] < found ? least[v][i] : found;
    }
  }
  for (; j < n; ++j) {
    const double value = static_cast<double>(values[j]);
    const double here = (squared ? weights[j] : weights[j] * weights[j]) * (diagonal[j] - value * value * inverse);
    if (here < found) where = static_cast<double>(j);
    found = here < found ? here : found;
  }
  *cost = found;
  return static_cast<std::size_t>(where);
}

template <class T>
std::size_t cheapest(const T* values, Units diagonal, double inverse, const double* weights, bool squared,
                     std::size_t n, double* cost) {
  return squared ? cheapest_of<T, true>(values, diagonal, inverse, weights, n, cost)
                 : cheapest_of<T, false>(values, diagonal, inverse, weights, n, cost);
}

void below(double limit, const double* values, std::size_t n, double* count, double* sum, double* largest) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector counts[n_vectors], sums[n_vectors], maxima[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) counts[v] = sums[v] = maxima[v] = S::Vector{};
  const auto one = S::broadcast(1.0), bound = S::broadcast(limit);
  std::size_t j = 0;
  for (; j + score_lanes <= n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const auto value = S::load(values + j + v * S::size);
      const auto is_below = reinterpret_cast<S::Bits>(value < bound);
      const auto counted = S::from_bits(S::to_bits(value) & is_below);
      counts[v] += S::from_bits(S::to_bits(one) & is_below);
      sums[v] += counted;
      maxima[v] = S::at_least(maxima[v], counted);
    }
  }
  *count = add_lanes(counts);
  *sum = add_lanes(sums);
  *largest = largest_lane(maxima);
  for (; j < n; ++j) {
    if (!(values[j] < limit)) continue;
    *count += 1.0;
    *sum += values[j];
    *largest = values[j] > *largest ? values[j] : *largest;
  }
}

// Rows of a tile that stay in registers while the m terms pass: 8 sums under way on every level with wide vectors.
void add_products(const double* x, const double* y, std::size_t y_stride, std::size_t m, std::size_t x_stride,
                  double* tile, std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_rows = vectors_per_tile == 1 ? 8 : 4;
  for (std::size_t i = 0; i < n; i += n_rows, x += n_rows * x_stride, tile += n_rows * lanes<double>) {
    S::Vector sums[n_rows][vectors_per_tile];
    ONKEL_UNROLL
    for (std::size_t r = 0; r < n_rows; ++r) {
      ONKEL_UNROLL
      for (std::size_t v = 0; v < vectors_per_tile; ++v) sums[r][v] = S::load(tile + r * lanes<double> + v * S::size);
    }
    for (std::size_t j = 0; j < m; ++j) {
      S::Vector term[vectors_per_tile];
      ONKEL_UNROLL
      for (std::size_t v = 0; v < vectors_per_tile; ++v) term[v] = S::load(y + j * y_stride + v * S::size);
      ONKEL_UNROLL
      for (std::size_t r = 0; r < n_rows; ++r) {
        const auto factor = S::broadcast(x[r * x_stride + j]);
        ONKEL_UNROLL
        for (std::size_t v = 0; v < vectors_per_tile; ++v) sums[r][v] = multiply_add(factor, term[v], sums[r][v]);
      }
    }
    ONKEL_UNROLL
    for (std::size_t r = 0; r < n_rows; ++r) {
      ONKEL_UNROLL
      for (std::size_t v = 0; v < vectors_per_tile; ++v) S::store(tile + r * lanes<double> + v * S::size, sums[r][v]);
    }
  }
}

// R rows against T tiles, of which `depth` rows are taken: the sums go on from where they were, or begin.
template <std::size_t R, std::size_t T>
ONKEL_INLINE void multiply_block(const double* x, std::size_t x_stride, const double* tiles, std::size_t tile_stride,
                                 std::size_t depth, bool begins, double* out, std::size_t out_stride) {
  typedef Simd<double> S;
  constexpr std::size_t V = T * vectors_per_tile;
  S::Vector sums[R * V];
  ONKEL_UNROLL
  for (std::size_t i = 0; i < R * V; ++i)
    sums[i] = begins ? S::Vector{} : S::load(out + i / V * out_stride + i % V * S::size);
  for (std::size_t j = 0; j < depth; ++j) {
    S::Vector s[V];
    ONKEL_UNROLL
    for (std::size_t v = 0; v < V; ++v)
      s[v] = S::load(tiles + v / vectors_per_tile * tile_stride + j * lanes<double> + v % vectors_per_tile * S::size);
    ONKEL_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
      const auto factor = S::broadcast(x[r * x_stride + j]);
      ONKEL_UNROLL
      for (std::size_t v = 0; v < V; ++v) sums[r * V + v] = multiply_add(factor, s[v], sums[r * V + v]);
    }
  }
  ONKEL_UNROLL
  for (std::size_t i = 0; i < R * V; ++i) S::store(out + i / V * out_stride + i % V * S::size, sums[i]);
}

// So many rows of the tiles stay in the first-level cache while the rows of x pass by.
constexpr std::size_t multiply_depth = 128;

template <std::size_t R, std::size_t T>
void multiply_sweep(const double* x, std::size_t n_rows, std::size_t x_stride, const double* tiles, std::size_t n_tiles,
                    std::size_t tile_stride, std::size_t m, double* out, std::size_t out_stride) {
  std::size_t tile = 0;
  for (; tile + T <= n_tiles; tile += T)
    for (std::size_t j = 0; j < m; j += multiply_depth) {
      const std::size_t depth = m - j < multiply_depth ? m - j : multiply_depth;
      const double* const part = tiles + tile * tile_stride + j * lanes<double>;
      const auto rows = [&]<std::size_t N>(std::size_t from, std::size_t end) {
        for (; from + N <= end; from += N)
          multiply_block<N, T>(x + from * x_stride + j, x_stride, part, tile_stride, depth, j == 0,
                               out + from * out_stride + tile * lanes<double>, out_stride);
        return from;
      };
      // Two rows alone would wait for each other's sums: twice four take the place of six and two.
      const bool in_fours = R == 6 && n_rows % 6 == 2 && n_rows >= 8;
      std::size_t row = rows.template operator()<R>(0, in_fours ? n_rows - 8 : n_rows);
      if constexpr (R > 4) row = rows.template operator()<4>(row, n_rows);
      if constexpr (R > 2) row = rows.template operator()<2>(row, n_rows);
      rows.template operator()<1>(row, n_rows);
    }
  if constexpr (T > 1)
    multiply_sweep<R, 1>(x, n_rows, x_stride, tiles + tile * tile_stride, n_tiles - tile, tile_stride, m,
                         out + tile * lanes<double>, out_stride);
}

#if defined(__AVX512F__)
inline constexpr std::size_t multiply_rows_at_once = 8, multiply_tiles_at_once = 3;
#elif defined(__aarch64__) || defined(__AVX2__)
inline constexpr std::size_t multiply_rows_at_once = 6, multiply_tiles_at_once = 1;
#else
inline constexpr std::size_t multiply_rows_at_once = 2, multiply_tiles_at_once = 1;
#endif

void multiply_tiles(const double* x, std::size_t n_rows, std::size_t x_stride, const double* tiles, std::size_t n_tiles,
                    std::size_t tile_stride, std::size_t m, double* out, std::size_t out_stride) {
  multiply_sweep<multiply_rows_at_once, multiply_tiles_at_once>(x, n_rows, x_stride, tiles, n_tiles, tile_stride, m,
                                                                out, out_stride);
}

void transpose(const double* __restrict block, double* __restrict out) {
#if defined(__AVX512F__)
  // Pairs of rows by pairs of columns, then fours, then eights.
  __m512d a[8], b[8];
  ONKEL_UNROLL
  for (std::size_t i = 0; i < 8; ++i) a[i] = _mm512_loadu_pd(block + 8 * i);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < 8; i += 2) {
    b[i] = _mm512_unpacklo_pd(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_pd(a[i], a[i + 1]);
  }
  ONKEL_UNROLL
  for (std::size_t i = 0; i < 8; i += 4) {
    ONKEL_UNROLL
    for (std::size_t k = 0; k < 2; ++k) {
      a[i + k] = _mm512_shuffle_f64x2(b[i + k], b[i + k + 2], 0x88);
      a[i + k + 2] = _mm512_shuffle_f64x2(b[i + k], b[i + k + 2], 0xdd);
    }
  }
  ONKEL_UNROLL
  for (std::size_t k = 0; k < 4; ++k) {
    _mm512_storeu_pd(out + 8 * k, _mm512_shuffle_f64x2(a[k], a[k + 4], 0x88));
    _mm512_storeu_pd(out + 8 * (k + 4), _mm512_shuffle_f64x2(a[k], a[k + 4], 0xdd));
  }
#elif defined(__AVX2__)
  // Four blocks of four rows: pairs of rows by pairs of columns, then fours.
  ONKEL_UNROLL
  for (std::size_t i = 0; i < 8; i += 4) {
    ONKEL_UNROLL
    for (std::size_t l = 0; l < 8; l += 4) {
      __m256d a[4], b[4];
      ONKEL_UNROLL
      for (std::size_t k = 0; k < 4; ++k) a[k] = _mm256_loadu_pd(block + (i + k) * 8 + l);
      ONKEL_UNROLL
      for (std::size_t k = 0; k < 4; k += 2) {
        b[k] = _mm256_unpacklo_pd(a[k], a[k + 1]);
        b[k + 1] = _mm256_unpackhi_pd(a[k], a[k + 1]);
      }
      ONKEL_UNROLL
      for (std::size_t k = 0; k < 2; ++k) {
        _mm256_storeu_pd(out + (l + k) * 8 + i, _mm256_permute2f128_pd(b[k], b[k + 2], 0x20));
        _mm256_storeu_pd(out + (l + k + 2) * 8 + i, _mm256_permute2f128_pd(b[k], b[k + 2], 0x31));
      }
    }
  }
#else
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t l = 0; l < 8; ++l) out[l * 8 + i] = block[i * 8 + l];
#endif
}

// One vector of features at a time, in four chains of every fourth row.
void weigh_differences(const double* weights, std::size_t m, const double* x, const double* rows, double* sums,
                       std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_chains = 4;
  for (std::size_t j = 0; j < n; j += S::size) {
    S::Vector chains[n_chains];
    ONKEL_UNROLL
    for (std::size_t c = 0; c < n_chains; ++c) chains[c] = S::Vector{};
    const auto here = S::load(x + j);
    for (std::size_t k = 0; k < m; k += n_chains) {
      ONKEL_UNROLL
      for (std::size_t c = 0; c < n_chains; ++c) {
        const auto distance = add_feature<double, Base::manhattan>(S::Vector{}, here, S::load(rows + (k + c) * n + j));
        chains[c] = multiply_add(S::broadcast(weights[k + c]), distance, chains[c]);
      }
    }
    S::store(sums + j, S::load(sums + j) + ((chains[0] + chains[1]) + (chains[2] + chains[3])));
  }
}

// Not fused: the sparse points add the same products one at a time.
template <class T>
void axpy(T x, const T* column, T* sums, std::size_t n) {
  typedef Simd<T> S;
  const auto factor = S::broadcast(x);
  for (std::size_t j = 0; j < n; j += S::size) S::store(sums + j, S::load(sums + j) + factor * S::load(column + j));
}

template <class T>
bool distances(T norm, const T* norms, T share, T* sums, std::size_t n) {
  typedef Simd<T> S;
  const auto norm_here = S::broadcast(norm), factor = S::broadcast(share), least = S::broadcast(T(0.0625));
  typename S::Bits enough = ~typename S::Bits{};
  for (std::size_t j = 0; j < n; j += S::size) {
    const auto sum = norm_here + S::load(norms + j);
    const auto left = sum - factor * S::load(sums + j);
    S::store(sums + j, left);
    enough &= reinterpret_cast<typename S::Bits>(left >= least * sum);
  }
  typename S::Word all = ~typename S::Word{0};
  ONKEL_UNROLL
  for (std::size_t i = 0; i < S::size; ++i) all &= enough[i];
  return all == 0;
}

// Two places are loaded at once: this is bound by loads, and gather instructions are slower.
template <class T>
void pick(const T* values, const std::int32_t* places, T* __restrict out, std::size_t n) {
  static_assert(std::endian::native == std::endian::little);
  for (std::size_t j = 0; j < n; j += 4) {
    std::uint64_t low, high;
    __builtin_memcpy(&low, places + j, sizeof low);
    __builtin_memcpy(&high, places + j + 2, sizeof high);
    out[j] = values[low & 0xffffffff];
    out[j + 1] = values[low >> 32];
    out[j + 2] = values[high & 0xffffffff];
    out[j + 3] = values[high >> 32];
  }
}

// 12 independent chains: enough to hide a latency of 4 to 6 cycles with two units, and no more than the registers hold.
// They tend to 1 but do not start there: clang recognises a constant chain and removes it.
template <class T>
double fma_peak(std::size_t n) {
  typedef Simd<T> S;
  constexpr std::size_t n_chains = 12;
  typename S::Vector sums[n_chains];
  ONKEL_UNROLL
  for (std::size_t i = 0; i < n_chains; ++i) sums[i] = S::broadcast(static_cast<T>(i + 2));
  const auto factor = S::broadcast(T(0.75));
  const auto term = S::broadcast(T(0.25));
  for (std::size_t done = 0; done < n; done += n_chains * S::size) {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < n_chains; ++i) sums[i] = multiply_add(sums[i], factor, term);
  }
  auto total = sums[0];
  ONKEL_UNROLL
  for (std::size_t i = 1; i < n_chains; ++i) total += sums[i];
  return static_cast<double>(total[0]);
}

#if defined(__AVX512F__)
constexpr const char* level_name = "x86-64-v4";
#elif defined(__AVX2__) && defined(__FMA__)
constexpr const char* level_name = "x86-64-v3";
#elif defined(__aarch64__)
constexpr const char* level_name = "neon";
#else
constexpr const char* level_name = "baseline";
#endif

}  // namespace

const Level ONKEL_LEVEL_OBJECT = {
    level_name,
    {tile<float>,       shape<float>,  dot<float>,     dot_pair<float>, axpy<float>,     distances<float>,
     pick<float>,       multiply_rows, update_rows,    add_products,    multiply_tiles,  transpose,
     weigh_differences, least,         add_squares,    weigh,           cheapest<float>, compare<float>,
     stretch,           below,         fma_peak<float>},
    {tile<double>,      shape<double>,
     dot<double>,       dot_pair<double>,
     axpy<double>,      distances<double>,
     pick<double>,      multiply_rows,
     update_rows,       add_products,
     multiply_tiles,    transpose,
     weigh_differences, least,
     add_squares,       weigh,
     cheapest<double>,  compare<double>,
     stretch,           below,
     fma_peak<double>},
};

}  // namespace onkel::isa
