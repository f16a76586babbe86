#include "scale.h"

float scaled(float value, float factor) { return value * factor; }
