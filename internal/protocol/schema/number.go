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
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	e, err := strconv.Atoi(exponent)
	if len(n) > maxNumber || exponent != "" && (err != nil || e > maxNumber || e < -maxNumber) {
		return refusal(fmt.Sprintf("contains the number %s, which is out of range", visible.Truncate(string(n), 40)))
	}
	return nil
}
