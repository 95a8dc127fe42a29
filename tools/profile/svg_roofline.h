// The roofline chart (Williams, Waterman and Patterson 2009).
#pragma once

#include "tools/profile/report.h"
#include "tools/profile/svg_canvas.h"

namespace prenorm::tools {

/// Draws a phase's operators below `y`; returns where the chart ends. Draws nothing where a limit was not measured.
double DrawRoofline(SvgCanvas& canvas, double y, const ProfilePhase& phase, const Roofline& roofline);

}  // namespace prenorm::tools
