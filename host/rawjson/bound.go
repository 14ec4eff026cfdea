package rawjson

import "fmt"

// Bound refuses JSON of more values than a decoder should make, or of deeper nesting: `{},` takes three
// bytes, and a hundred once decoded. Each member, each item and the whole count as one value. It looks at each byte
// once and keeps nothing; what is not JSON it may let pass.
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
			return fmt.Errorf("holds more than %d values", values)
		}
	}
	return nil
}
