package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// inRange refuses a number that would take unbounded time to compare.
func inRange(n json.Number) error {
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	e, err := strconv.Atoi(exponent)
	if len(n) > maxNumber || exponent != "" && (err != nil || e > maxNumber || e < -maxNumber) {
		return refusal(fmt.Sprintf("holds the number %s, which is out of range", shorten(string(n), 40)))
	}
	return nil
}
