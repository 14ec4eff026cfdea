package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// checkNumber refuses a number that would be too expensive to compare.
func checkNumber(n json.Number) error {
	ok := len(n) <= maxNumber
	if _, exponent, found := strings.Cut(strings.ToLower(string(n)), "e"); found {
		e, err := strconv.Atoi(exponent)
		ok = ok && err == nil && e <= maxNumber && e >= -maxNumber
	}
	if !ok {
		return fmt.Errorf("contains the number %s, which is out of range", visible.Truncate(string(n), 40))
	}
	return nil
}
