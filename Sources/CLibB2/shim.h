#pragma once
#include <blake2.h>
