# Writes the keys of each file as a table in C++: of cluster.txt it is kClusterKeys.
#   awk -f table.awk KEYS.txt...
BEGIN {
  FS = " [|] "
  print "// Made of config/spec/keys by the build."
  print "#pragma once\n#include \"absl/strings/string_view.h\"\n\nnamespace clusterd {"
}
FNR == 1 {
  if (NR > 1) print "};"
  name = FILENAME
  gsub(/^.*\/|\.txt$/, "", name)
  print "inline constexpr absl::string_view k" toupper(substr(name, 1, 1)) substr(name, 2) "Keys[] = {"
}
NF == 4 && !/^#/ { print "    \"" $1 "\"," }
END { print "};\n}  // namespace clusterd" }
