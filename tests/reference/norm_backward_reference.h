// Gradients of norms without a formula for them: the forward pass on a scalar type of the caller's choice,
// differentiated by complex step (exact to the last bits, no cancellation) or by central differences in f64.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace prenorm::reference {

enum class NormKind { kRms, kLayer };

// gain * x_hat + bias of one row; T is any field with sqrt.
template <typename T>
std::vector<T> Forward(NormKind kind, const std::vector<T>& x, const std::vector<T>& gain, const std::vector<T>& bias,
                       T eps) {
  using std::sqrt;
  const T count = static_cast<T>(static_cast<double>(x.size()));
  T mean = T(0);
  if (kind == NormKind::kLayer) {
    for (const T& v : x) mean += v;
    mean /= count;
  }
  T squares = T(0);
  for (const T& v : x) squares += (v - mean) * (v - mean);
  const T root = sqrt(squares / count + eps);
  std::vector<T> y;
  for (size_t i = 0; i < x.size(); ++i) y.push_back(gain[i] * (x[i] - mean) / root + bias[i]);
  return y;
}

// sum of dy * y, whose derivatives are the gradients.
template <typename T>
T Loss(NormKind kind, const std::vector<T>& x, const std::vector<T>& gain, const std::vector<T>& bias,
       const std::vector<double>& dy, T eps) {
  T loss = T(0);
  const std::vector<T> y = Forward(kind, x, gain, bias, eps);
  for (size_t i = 0; i < y.size(); ++i) loss += T(dy[i]) * y[i];
  return loss;
}

struct Gradients {
  std::vector<double> dx, dgain, dbias;
};

// Derivative of the loss of one row by each element of x, gain and bias: Im f(v + ih) / h.
inline Gradients ComplexStep(NormKind kind, const std::vector<double>& x, const std::vector<double>& gain,
                             const std::vector<double>& bias, const std::vector<double>& dy, double eps) {
  using C = std::complex<double>;
  const double h = 1e-100;
  std::vector<C> operands[3] = {{x.begin(), x.end()}, {gain.begin(), gain.end()}, {bias.begin(), bias.end()}};
  Gradients result;
  std::vector<double>* outputs[3] = {&result.dx, &result.dgain, &result.dbias};
  for (size_t k = 0; k < 3; ++k) {
    for (C& v : operands[k]) {
      const C kept = v;
      v += C(0.0, h);
      outputs[k]->push_back(Loss<C>(kind, operands[0], operands[1], operands[2], dy, C(eps)).imag() / h);
      v = kept;
    }
  }
  return result;
}

// d loss / d x[i] by central differences.
inline std::vector<double> FiniteDifferences(NormKind kind, std::vector<double> x, const std::vector<double>& gain,
                                             const std::vector<double>& bias, const std::vector<double>& dy, double eps,
                                             double step) {
  std::vector<double> dx;
  for (double& v : x) {
    const double kept = v;
    v = kept + step;
    const double up = Loss<double>(kind, x, gain, bias, dy, eps);
    v = kept - step;
    const double down = Loss<double>(kind, x, gain, bias, dy, eps);
    v = kept;
    dx.push_back((up - down) / (2 * step));
  }
  return dx;
}

}  // namespace prenorm::reference
