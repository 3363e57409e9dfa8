#pragma once
#include <bsd/readpassphrase.h>
