package rawjson

import "strings"

// Ambiguous returns the key of a member that decoders interpret differently. This is a duplicate of a known name, or a key that differs from
// a known name only in case. encoding/json and other decoders ignore case; of duplicates, some decoders use the first and some the last. If
// a decision depends on known members, an ambiguous object must therefore be refused before its bytes are forwarded. Ambiguous also returns
// the known name. Both results are empty if there is no such member.
func Ambiguous(object []byte, known ...string) (key, name string) {
	var seen uint64 // bit i is set if known[i] was seen
	for key := range Members(object) {
		for i, name := range known {
			if !strings.EqualFold(key, name) {
				continue
			}
			if key != name || seen&(1<<i) != 0 {
				return key, name
			}
			seen |= 1 << i
		}
	}
	return "", ""
}
