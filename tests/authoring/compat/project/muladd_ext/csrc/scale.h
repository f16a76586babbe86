#pragma once

float scaled(float value, float factor);
