// Shape of a feature map from the C interface.
#pragma once

#include "prenorm/norm_channels.h"
#include "prenorm/norm_channels_c.h"

namespace prenorm {

inline ChannelShape ShapeOf(const prenorm_channel_shape& shape) {
  return {shape.samples, shape.channels, shape.space,
          shape.channels_last != 0 ? ChannelOrder::kChannelsLast : ChannelOrder::kChannelsFirst};
}

}  // namespace prenorm
