package hosttool

import (
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

const resultInput = `{"type":"object","properties":{"id":{"type":"string"},"offset":{"type":"integer","minimum":0},"length":{"type":"integer","minimum":1}},` +
	`"required":["id"],"additionalProperties":false}`

func (s *Set) describeResult() (gateway.Tool, bool) {
	return own("Read on in a result that was too long: its last text has id and offset, in bytes."), s.shortens
}

// Range is the part of a shortened result that a call of Result asks for, in bytes.
type Range struct {
	ID             string
	Offset, Length int // Length 0: as much as fits
}

// maxRange bounds the numbers of a Range. No result is that long.
const maxRange = 1 << 30

// ResultRange returns what a call of Result asks for. The error continues a sentence that begins with the name of the tool.
func (s *Set) ResultRange(arguments json.RawMessage) (Range, error) {
	var given struct {
		ID             string
		Offset, Length float64 // as Answer has them
	}
	err := s.decode(Result, arguments, &given)
	return Range{given.ID, int(min(given.Offset, maxRange)), int(min(given.Length, maxRange))}, err
}
