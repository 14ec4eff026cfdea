package rawjson

import "strings"

// Ambiguous returns the key of an object's member that one reader takes for another member than the next: one
// of known that is there twice, or is written in other case. encoding/json and others ignore case, and of a
// key given twice some take the first value and some the last, so whoever decides by such a member must refuse
// the object before its bytes are passed on. The key comes with the name that it is like; both are empty if
// there is none.
func Ambiguous(object []byte, known ...string) (key, name string) {
	var seen uint64 // by position in known
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
