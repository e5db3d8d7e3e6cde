#pragma once

#include <string>

namespace freezepipe::cli {

/// "0:07", "12:34", "1:02:03".
std::string Clock(double seconds);

/// "34 s", "3 min 12 s", "2 h 5 min".
std::string Duration(double seconds);

/// "512 B", "1.2 MB".
std::string Bytes(double bytes);

/// A count or rate with thousands set apart: "12,345".
std::string Thousands(double number);

/// "91.3 %" for 0.913, with so many decimals.
std::string Percent(double share, int decimals);

/// "1 layer", "3 layers".
std::string Counted(int count, const std::string& what);

}  // namespace freezepipe::cli
