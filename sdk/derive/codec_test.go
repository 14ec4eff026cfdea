package derive

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

type spec struct {
	ID     string
	Title  string
	Count  int
	Size   int64
	Weight float64
	Done   bool
	Raw    []byte
	Tags   []string
	Parts  []part
}

func (s *spec) Fields(c *Codec) {
	c.String(&s.ID)
	c.String(&s.Title)
	c.Int(&s.Count)
	c.Int64(&s.Size)
	c.Float(&s.Weight)
	c.Bool(&s.Done)
	c.Bytes(&s.Raw)
	c.Strings(&s.Tags)
	List(c, &s.Parts)
}

type part struct {
	Name  string
	Parts []part
}

func (p *part) Fields(c *Codec) {
	c.String(&p.Name)
	List(c, &p.Parts)
}

var full = spec{
	ID: "a-1", Title: "Tea \xff\x00 é", Count: -3, Size: math.MinInt64, Weight: -0.5, Done: true, Raw: []byte{0, 1}, Tags: []string{"", "x", "long " + strings.Repeat("y", 300)},
	Parts: []part{{Name: "p", Parts: []part{{Name: "q"}, {}}}, {}},
}

func encoded(s *spec) []byte { return appendTo(nil, s.Fields) }

func TestDecodedValueEqualsEncoded(t *testing.T) {
	for name, value := range map[string]spec{
		"zero": {}, "full": full,
		"largest numbers": {Count: math.MaxInt, Size: math.MaxInt64, Weight: math.Inf(1)},
	} {
		t.Run(name, func(t *testing.T) {
			got := spec{ID: "before", Tags: []string{"before"}, Raw: []byte("before"), Parts: []part{{Name: "before"}}}
			if err := decode(encoded(&value), got.Fields); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, value) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestEmptySliceIsDecodedAsNil(t *testing.T) {
	empty, got := spec{Raw: []byte{}, Tags: []string{}, Parts: []part{}}, spec{}
	if err := decode(encoded(&empty), got.Fields); err != nil || got.Raw != nil || got.Tags != nil || got.Parts != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOptionalPointerIsDecodedAsEncoded(t *testing.T) {
	empty, text := "", "x"
	for _, want := range []*string{nil, &empty, &text} {
		got := &text
		data := appendTo(nil, func(c *Codec) { Optional(c, &want, c.String) })
		if err := decode(data, func(c *Codec) { Optional(c, &got, c.String) }); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v", got, err)
		}
	}
	got := &text
	if err := decode([]byte("\x01\x05x"), func(c *Codec) { Optional(c, &got, c.String) }); err == nil || got != nil {
		t.Errorf("truncated: got %v, %v", got, err)
	}
}

func TestDecodeRefusesTruncatedAndLongData(t *testing.T) {
	data := encoded(&full)
	for n := range len(data) {
		if err := decode(data[:n], new(spec).Fields); err == nil {
			t.Errorf("the first %d bytes are decoded", n)
		}
	}
	if err := decode(append(data, 0), new(spec).Fields); err == nil || !strings.Contains(err.Error(), "1 bytes are left") {
		t.Errorf("got %v", err)
	}
}

// nothing is a type whose encoding is empty.
type nothing struct{}

func (*nothing) Fields(*Codec) {}

// Decoding a small amount of data must neither allocate much memory nor recurse deeply.
func TestDecodeOfHostileDataIsBounded(t *testing.T) {
	deep := strings.Repeat("\x00\x01", 10_000) // a part without a name, which contains such a part, and so on
	large := "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
	for name, test := range map[string]struct {
		data   string
		fields func(*Codec)
		want   string
	}{
		"deep list":           {deep, new(part).Fields, "nested deeper than 100"},
		"elements of no size": {"\x05abcde", func(c *Codec) { List(c, new([]nothing)) }, "has no fields"},
		"count of elements":   {large + "x", func(c *Codec) { List(c, new([]part)) }, "ends inside"},
		"count of strings":    {large + "x", func(c *Codec) { c.Strings(new([]string)) }, "ends inside"},
		"length of a string":  {large + "x", func(c *Codec) { c.String(new(string)) }, "ends inside"},
		"large number":        {strings.Repeat("\xff", 9) + "\x02", func(c *Codec) { c.Int(new(int)) }, "ends inside"},
		"boolean":             {"\x02", func(c *Codec) { c.Bool(new(bool)) }, "not a boolean"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := decode([]byte(test.data), test.fields); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	twice := make([]string, 0, 1)
	if n := testing.AllocsPerRun(10, func() { _ = decode([]byte(large+"x"), func(c *Codec) { c.Strings(&twice) }) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
}

func TestValueThatCannotBeEncodedPanics(t *testing.T) {
	deep := part{}
	for range maxDepth + 1 {
		deep = part{Parts: []part{deep}}
	}
	for name, fields := range map[string]func(*Codec){
		"deep list": deep.Fields, "elements of no size": func(c *Codec) { List(c, &[]nothing{{}}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the value was encoded, want a panic")
				}
			}()
			appendTo(nil, fields)
		})
	}
}

// FuzzDecode checks that decoding arbitrary data either fails, or returns a value whose encoding decodes to the same value.
func FuzzDecode(f *testing.F) {
	f.Add(encoded(&spec{}))
	f.Add(encoded(&full))
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second spec
		if decode(data, first.Fields) != nil {
			return
		}
		again := encoded(&first)
		if err := decode(again, second.Fields); err != nil {
			t.Fatal(err)
		}
		if third := encoded(&second); string(third) != string(again) {
			t.Errorf("%x is encoded as %x and then as %x", data, again, third)
		}
	})
}
