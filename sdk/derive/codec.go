package derive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Fielder is implemented by pointers to types that can be derived. Fields passes a pointer to each field of the value to the codec. It must
// pass the fields always in the same order and without conditions, because it serves both encoding and decoding. A field that it does not
// pass is lost.
type Fielder interface{ Fields(c *Codec) }

// record is the constraint of a pointer to T that implements Fielder.
type record[T any] interface {
	*T
	Fielder
}

// Codec encodes or decodes the fields of a value. An empty slice is decoded as nil.
//
// After the first error while decoding, all methods set zero values.
type Codec struct {
	out      []byte // while encoding: the encoded data
	in       string // while decoding: the data not decoded yet, whose memory decoded strings share
	decoding bool
	depth    int
	err      error
}

// maxDepth is the maximum nesting of lists. A type may contain a list of itself.
const maxDepth = 100

var errTruncated = errors.New("derive: the data ends inside a value")

// appendTo appends the encoding of a value to out.
func appendTo(out []byte, fields func(*Codec)) []byte {
	c := Codec{out: out}
	fields(&c)
	return c.out
}

// decode decodes a value. The encoding of the value must be the whole of data.
func decode(data []byte, fields func(*Codec)) error {
	c := Codec{in: string(data), decoding: true}
	fields(&c)
	if c.err == nil && c.in != "" {
		c.fail(fmt.Errorf("derive: %d bytes are left after the value", len(c.in)))
	}
	return c.err
}

func (c *Codec) fail(err error) {
	if c.err == nil {
		c.err, c.in = err, ""
	}
}

// Int encodes or decodes an integer.
func (c *Codec) Int(v *int) {
	n := int64(*v)
	c.Int64(&n)
	*v = int(n)
}

// Int64 encodes or decodes an integer.
func (c *Codec) Int64(v *int64) {
	u := uint64(*v)<<1 ^ uint64(*v>>63) // encode the sign in the lowest bit, so that small negative numbers take few bytes too
	c.uint(&u)
	*v = int64(u>>1) ^ -int64(u&1)
}

// Float encodes or decodes a floating-point number, which may be NaN or infinite.
func (c *Codec) Float(v *float64) {
	if !c.decoding {
		c.out = binary.LittleEndian.AppendUint64(c.out, math.Float64bits(*v))
		return
	}
	if *v = 0; len(c.in) < 8 {
		c.fail(errTruncated)
		return
	}
	*v = math.Float64frombits(binary.LittleEndian.Uint64([]byte(c.in[:8])))
	c.in = c.in[8:]
}

// Bool encodes or decodes a boolean.
func (c *Codec) Bool(v *bool) {
	u := uint64(0)
	if *v {
		u = 1
	}
	c.uint(&u)
	if u > 1 {
		c.fail(fmt.Errorf("derive: %d is not a boolean", u))
	}
	*v = u == 1 && c.err == nil
}

// String encodes or decodes a string, which may contain any bytes. Decoding does not copy the string.
func (c *Codec) String(v *string) {
	if !c.decoding {
		c.out = append(binary.AppendUvarint(c.out, uint64(len(*v))), *v...)
		return
	}
	n := c.length()
	*v, c.in = c.in[:n], c.in[n:]
}

// Bytes encodes or decodes a slice of bytes. Decoding copies the bytes.
func (c *Codec) Bytes(v *[]byte) {
	s := ""
	if !c.decoding {
		s = string(*v)
	}
	c.String(&s)
	if c.decoding {
		*v = nil
		if s != "" {
			*v = []byte(s)
		}
	}
}

// Strings encodes or decodes a slice of strings.
func (c *Codec) Strings(v *[]string) {
	n := c.count(len(*v))
	if c.decoding {
		*v = nil
		if n > 0 {
			*v = make([]string, n) // count has bounded n by the size of the data
		}
	}
	for i := range *v {
		c.String(&(*v)[i])
	}
	if c.err != nil {
		*v = nil
	}
}

// List encodes or decodes a slice of values. Their type must implement Fielder and pass at least one field. Lists may be nested up to 100
// deep.
func List[T any, P record[T]](c *Codec, v *[]T) {
	if c.depth++; c.depth > maxDepth {
		c.misuse(fmt.Sprintf("derive: lists are nested deeper than %d", maxDepth))
	}
	n := c.count(len(*v))
	if c.decoding {
		*v = nil
		// Elements may be far larger than their encoding. Memory is therefore allocated only as they are decoded.
		for len(*v) < n && c.err == nil {
			var element T
			before := len(c.in)
			P(&element).Fields(c)
			c.checkElement(before - len(c.in))
			*v = append(*v, element)
		}
		if c.err != nil {
			*v = nil
		}
	} else {
		for i := range *v {
			before := len(c.out)
			P(&(*v)[i]).Fields(c)
			c.checkElement(len(c.out) - before)
		}
	}
	c.depth--
}

// Optional encodes or decodes a pointer, which may be nil. The function field encodes or decodes the value to which the pointer points:
//
//	derive.Optional(c, &d.Title, c.String)
func Optional[T any](c *Codec, v **T, field func(*T)) {
	present := *v != nil
	c.Bool(&present)
	if !present {
		*v = nil
		return
	}
	if c.decoding {
		*v = new(T)
	}
	field(*v)
	if c.err != nil {
		*v = nil
	}
}

// checkElement checks that an element of a list took at least one byte. The method count relies on this: when decoding, count refuses a
// number of elements that exceeds the number of remaining bytes.
func (c *Codec) checkElement(bytes int) {
	if bytes == 0 && c.err == nil {
		c.misuse("derive: an element of a list has no fields")
	}
}

// misuse reports an invalid value: it panics when encoding, and sets the error when decoding.
func (c *Codec) misuse(message string) {
	if !c.decoding {
		panic(message)
	}
	c.fail(errors.New(message))
}

// count encodes or decodes the number n of elements of a list. Each element takes at least one byte, so decoding fails if n exceeds the
// number of remaining bytes.
func (c *Codec) count(n int) int {
	if !c.decoding {
		c.out = binary.AppendUvarint(c.out, uint64(n))
		return n
	}
	return c.length()
}

// length decodes a number. It fails if the number exceeds the number of remaining bytes.
func (c *Codec) length() int {
	u := uint64(0)
	c.uint(&u)
	if u > uint64(len(c.in)) {
		c.fail(errTruncated)
		return 0
	}
	return int(u)
}

// uint encodes or decodes an unsigned integer. Small integers take fewer bytes than large ones.
func (c *Codec) uint(v *uint64) {
	if !c.decoding {
		c.out = binary.AppendUvarint(c.out, *v)
		return
	}
	*v = 0
	for i, shift := 0, 0; i < len(c.in) && i < binary.MaxVarintLen64; i, shift = i+1, shift+7 {
		b := c.in[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		*v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			c.in = c.in[i+1:]
			return
		}
	}
	*v = 0
	c.fail(errTruncated)
}
