package rawjson

import "strings"

// Ambiguous returns the key of a member that decoders interpret differently: a duplicate of a known name, or one that differs
// from it in case. encoding/json and others ignore case, and of duplicates some decoders use the first and some the last.
// So an object must be refused before its bytes are forwarded if a decision depended on such a member. Ambiguous also
// returns the known name; both are empty if there is no such member.
func Ambiguous(object []byte, known ...string) (key, name string) {
	var seen uint64 // bitset: bit i is set if known[i] was seen
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
