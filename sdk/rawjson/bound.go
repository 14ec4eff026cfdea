package rawjson

import "fmt"

// Bound returns an error if JSON contains more values than the given number, or nests deeper than depth. Callers use it before decoding: `{},`
// takes three bytes, but a hundred after decoding. Each member, each element and the whole text count as one value. Bound makes one pass
// and does not allocate. It may accept invalid JSON.
func Bound(data []byte, values, depth int) error {
	count, open := 1, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i) - 1
		case '[', '{':
			if open++; open > depth {
				return fmt.Errorf("is nested more than %d deep", depth)
			}
			next := skipSpace(data, i+1)
			if next < len(data) && data[next] != ']' && data[next] != '}' {
				count++
			}
		case ']', '}':
			open--
		case ',':
			count++
		}
		if count > values {
			return fmt.Errorf("contains more than %d values", values)
		}
	}
	return nil
}
