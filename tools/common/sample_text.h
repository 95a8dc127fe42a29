// English prose for measurements that need some text, whatever it says.
#pragma once

namespace prenorm::tools {

inline constexpr char kSampleText[] =
    "A normalization divides a row of numbers by their own size, so that the layer behind it sees inputs of one scale "
    "however deep the network is. It has little arithmetic and much waiting: every element is read twice, and nothing "
    "can start before the sum of all squares is known. This is why its share of the time is larger than its share of "
    "the work.";

}  // namespace prenorm::tools
