package hosttool

import (
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

const resultInput = `{"type":"object","properties":{"id":{"type":"string","maxLength":64},` +
	`"offset":{"type":"integer","minimum":0,"default":0,"description":"in bytes"},"length":{"type":"integer","minimum":1,"description":"in bytes, at most"}},` +
	`"required":["id"],"additionalProperties":false}`

func (s *Set) describeResult() (gateway.Tool, bool) {
	return own("Read more of a result that was too long. Its last text has the id and the offset."), s.shortens
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
