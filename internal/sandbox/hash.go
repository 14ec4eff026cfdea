package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// hashPiece is the number of bytes that are hashed between two checks of the context. The Go runtime cannot preempt the hashing of
// a piece, which takes a fraction of a millisecond.
const hashPiece = 256 << 10

// hashSHA256 implements abi.OpHashSHA256.
func hashSHA256(ctx context.Context, p abi.SHA256, data []byte) (abi.SHA256Sum, error) {
	sum := sha256.New()
	if p.State != nil {
		if err := sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(p.State); err != nil {
			return abi.SHA256Sum{}, invalidParams(fmt.Errorf("a state of %d bytes is not from an earlier result", len(p.State)))
		}
	}
	for piece := range slices.Chunk(data, hashPiece) {
		if err := ctx.Err(); err != nil {
			return abi.SHA256Sum{}, err
		}
		sum.Write(piece)
	}
	state, err := sum.(encoding.BinaryMarshaler).MarshalBinary()
	return abi.SHA256Sum{Sum: hex.EncodeToString(sum.Sum(nil)), State: state}, err
}
