package address_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/fetch/address"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"https://a.example":                "https://a.example/",
		"HTTPS://A.Example:443/B":          "https://a.example/B",
		"http://a.example:8080":            "http://a.example:8080/",
		"http://a.example:00080/":          "http://a.example/",
		"http:a.example":                   "http://a.example/",
		`http:\\a.example\b?c\d`:           `http://a.example/b?c\d`,
		"\t http://a.ex\nample/ \x00":      "http://a.example/",
		"http://a.example/b/../c/./d":      "http://a.example/c/d",
		"http://a.example/../../b":         "http://a.example/b",
		"http://a.example/ü b%41":          "http://a.example/%C3%BC%20b%41",
		"http://a.example/?q='ü'#'x":       "http://a.example/?q=%27%C3%BC%27#'x",
		"http://bücher.example":            "http://xn--bcher-kva.example/",
		"http://faß.example":               "http://xn--fa-hia.example/",
		"http://ａ.example。com":             "http://a.example.com/",
		"http://me:p@w@a.example/":         "http://me:p%40w@a.example/",
		"http://[::1]:80/":                 "http://[::1]/",
		"http://2130706433/":               "http://2130706433/",
		"http://a.example./":               "http://a.example./",
		"ftp://a.example/b":                "ftp://a.example/b",
		"mailto:a@b.example":               "mailto:a@b.example",
		"http://a.example/" + "%zz":        "http://a.example/%25zz",
		"http://a.example/<script>\"`{}":   "http://a.example/%3Cscript%3E%22%60%7B%7D",
		"http://a.example?x=1":             "http://a.example/?x=1",
		"http://a.example#f":               "http://a.example/#f",
		"http://a.example//b":              "http://a.example//b",
		"http://evil.example\\@a.example/": "http://evil.example/@a.example/",
	} {
		u, err := address.Parse(text)
		if err != nil || u.String() != want {
			t.Errorf("%q: got %v, %v, want %s", text, u, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]error{
		"": address.ErrEmpty, " ": address.ErrRelative, "a.example": address.ErrRelative, "/a": address.ErrRelative, "//a.example": address.ErrRelative,
		"1a://b": address.ErrRelative, "http://": address.ErrHost, "http:": address.ErrHost, "http://:80": address.ErrHost, "http://?a": address.ErrHost,
		"http://a:b": address.ErrPort, "http://a:65536": address.ErrPort, "http://a:-1": address.ErrPort, "http://[::1": address.ErrIPv6,
		"http://a b/": address.ErrName, "http://a^b/": address.ErrName, "http://a%00b/": address.ErrName, "http://%zz/": address.ErrName,
	} {
		if u, err := address.Parse(text); !errors.Is(err, want) {
			t.Errorf("%q: got %v, %v, want %v", text, u, err, want)
		}
	}
}

// FuzzParse checks that a parsed URL is the same when it is parsed again, and has the host that every other parser sees.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"http://a.example/b?c#d", `http:\\me@a.example\b`, "https://bücher.example:443/../x", "http://[::1]/", "http://a.example\\@b.example", "mailto:a", "http://a@b@c:1/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := address.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return
		}
		again, err := address.Parse(u.String())
		if err != nil || again.Host != u.Host || again.String() != u.String() {
			t.Errorf("%q: %s is parsed as %v, %v", text, u, again, err)
		}
		if other, err := url.Parse(u.String()); err != nil || other.Host != u.Host {
			t.Errorf("%q: %s has the host %q for net/url, want %q: %v", text, u, other.Host, u.Host, err)
		}
	})
}
