# Writes a page with its tables made of the keys of a file:
#   awk -f page.awk KEYS.txt PAGE.md
# The page has a line <!-- keys: NAME --> above the table of each "- NAME" of the keys.
BEGIN { FS = " [|] " }
FNR == NR && /^#/ { next }
FNR == NR && /^- / { name = substr($0, 3); unused[name] }
FNR == NR && NF == 4 { rows[name] = rows[name] "| `" $1 "` | " $2 " | " $3 " | " $4 " |\n" }
FNR == NR { next }
/^\|/ && made { next }
{ print; made = 0 }
/^<!-- keys: .* -->$/ {
  name = substr($0, 12, length($0) - 15)
  printf "| key | value | default | meaning |\n|---|---|---|---|\n%s", rows[name]
  delete unused[name]
  made = 1
}
END {
  for (name in unused) { print FILENAME ": no table for the keys of " name > "/dev/stderr"; exit 1 }
}
