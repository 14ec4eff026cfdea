package httpheader

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]struct{ name, connection bool }{
		"Authorization":             {true, false},
		"x-tenant_1.a":              {true, false},
		"transfer-encoding":         {true, true},
		"HOST":                      {true, true},
		"Proxy-Authorization":       {true, true},
		"":                          {false, false},
		"a b":                       {false, false},
		"a:b":                       {false, false},
		"a\r\nb":                    {false, false},
		"ä":                         {false, false},
		strings.Repeat("a", 128):    {true, false},
		strings.Repeat("a", 129):    {false, false},
		"transfer-encoding\x00":     {false, false},
		"Content-Length":            {true, true},
		"Content-Type":              {true, false},
		"Te":                        {true, true},
		"Http2-Settings":            {true, true},
		"Not-Of-A-Connection-Kind!": {true, false},
	} {
		if got := IsName(name); got != want.name {
			t.Errorf("%q is a name: %t", name, got)
		}
		if got := IsOfConnection(name); got != want.connection {
			t.Errorf("%q belongs to the connection: %t", name, got)
		}
	}
}

func TestValues(t *testing.T) {
	for value, want := range map[string]bool{"": true, "Bearer a\tb": true, "ä": true, "a\r\nB: c": false, "a\x00": false, "a\x7f": false} {
		if IsValue(value) != want {
			t.Errorf("%q", value)
		}
	}
}
