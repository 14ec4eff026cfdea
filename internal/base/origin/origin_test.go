package origin_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ text, want, fault string }{
		"https":                         {text: "https://api.example.com", want: "https://api.example.com"},
		"http":                          {text: "http://api.example.com", want: "http://api.example.com"},
		"a trailing slash":              {text: "https://api.example.com/", want: "https://api.example.com"},
		"upper case":                    {text: "HTTPS://API.Example.COM", want: "https://api.example.com"},
		"https's own port":              {text: "https://api.example.com:443", want: "https://api.example.com"},
		"http's own port":               {text: "http://api.example.com:80", want: "http://api.example.com"},
		"the other scheme's port":       {text: "http://api.example.com:443", want: "http://api.example.com:443"},
		"another port":                  {text: "https://api.example.com:8443", want: "https://api.example.com:8443"},
		"an international name":         {text: "https://xn--bcher-kva.example", want: "https://xn--bcher-kva.example"},
		"an underscore":                 {text: "https://a_b.example", want: "https://a_b.example"},
		"a name of one part":            {text: "http://localhost:8080", want: "http://localhost:8080"},
		"IPv4":                          {text: "http://127.0.0.1:8080", want: "http://127.0.0.1:8080"},
		"IPv6":                          {text: "http://[::1]:8080", want: "http://[::1]:8080"},
		"IPv6 in a long form":           {text: "https://[2001:0DB8:0:0:0:0:0:1]", want: "https://[2001:db8::1]"},
		"nothing":                       {text: "", fault: "is not the URL"},
		"a bare host":                   {text: "api.example.com", fault: "is not the URL"},
		"a host and a port":             {text: "api.example.com:443", fault: "is not the URL"},
		"no scheme":                     {text: "//api.example.com", fault: "is not the URL"},
		"another scheme":                {text: "ftp://api.example.com", fault: "is not the URL"},
		"a file":                        {text: "file:///etc/passwd", fault: "is not the URL"},
		"no host":                       {text: "https://", fault: "is not the URL"},
		"no slashes":                    {text: "https:api.example.com", fault: "is not the URL"},
		"a path":                        {text: "https://api.example.com/v1", fault: "more than an origin"},
		"a query":                       {text: "https://api.example.com?", fault: "more than an origin"},
		"a fragment":                    {text: "https://api.example.com#", fault: "more than an origin"},
		"a user":                        {text: "https://me@api.example.com", fault: "has a user name"},
		"a user and a password":         {text: "https://me:pw@api.example.com", fault: "has a user name"},
		"an empty user":                 {text: "https://@api.example.com", fault: "has a user name"},
		"a host in the user's place":    {text: "https://api.example.com@evil.example", fault: "has a user name"},
		"a backslash":                   {text: `https://evil.example\.api.example.com`, fault: "is not the URL"},
		"a backslash before a user":     {text: `https://evil.example\@api.example.com`, fault: "is not the URL"},
		"a trailing dot":                {text: "https://api.example.com.", fault: "ends in a dot"},
		"two dots":                      {text: "https://api..example.com", fault: "empty part"},
		"a dot at the start":            {text: "https://.example.com", fault: "empty part"},
		"a long part":                   {text: "https://" + strings.Repeat("a", 64) + ".example", fault: "63 bytes"},
		"a long name":                   {text: "https://" + strings.Repeat("a.", 130) + "example", fault: "at most 253"},
		"non-ASCII letters":             {text: "https://bücher.example", fault: "xn--"},
		"a Cyrillic letter":             {text: "https://аpi.example.com", fault: "xn--"},
		"a full-width dot":              {text: "https://api。example.com", fault: "xn--"},
		"a percent-encoded host":        {text: "https://%61pi.example.com", fault: "is not the URL"},
		"percent-encoded UTF-8":         {text: "https://b%C3%BCcher.example", fault: "xn--"},
		"a wildcard":                    {text: "https://*.example.com", fault: "characters other"},
		"a space":                       {text: "https://api.example.com ", fault: "is not the URL"},
		"a line break":                  {text: "https://api.example.com\r\nHost: x", fault: "is not the URL"},
		"a colon without a port":        {text: "https://api.example.com:", fault: "colon without a port"},
		"port zero":                     {text: "https://api.example.com:0", fault: "port that is not a number"},
		"a port with a leading zero":    {text: "https://api.example.com:0443", fault: "port that is not a number"},
		"a port that is too large":      {text: "https://api.example.com:65536", fault: "port that is not a number"},
		"a port by name":                {text: "https://api.example.com:https", fault: "is not the URL"},
		"two ports":                     {text: "https://api.example.com:1:2", fault: "is not the URL"},
		"IPv6 without brackets":         {text: "https://::1", fault: "is not the URL"},
		"IPv6 with a zone":              {text: "http://[fe80::1%25eth0]", fault: "zone"},
		"IPv4 mapped to IPv6":           {text: "http://[::ffff:127.0.0.1]", fault: "write it as IPv4"},
		"IPv4 in brackets":              {text: "http://[127.0.0.1]", fault: "is not the URL"},
		"a name in brackets":            {text: "http://[localhost]", fault: "is not the URL"},
		"IPv4 of two numbers":           {text: "http://127.1", fault: "ends in a number"},
		"IPv4 of one number":            {text: "http://2130706433", fault: "ends in a number"},
		"IPv4 in hexadecimal":           {text: "http://0x7f.0.0.1", fault: "ends in a number"},
		"IPv4 that ends in hexadecimal": {text: "http://127.0.0.0x1", fault: "ends in a number"},
		"IPv4 in octal":                 {text: "http://0177.0.0.1", fault: "ends in a number"},
		"IPv4 that is too large":        {text: "http://256.0.0.1", fault: "ends in a number"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := origin.Parse(c.text)
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) || got != (origin.Origin{}) {
					t.Fatalf("got %v and the error %v, want %q in it", got, err, c.fault)
				}
				return
			}
			if err != nil || got.String() != c.want {
				t.Fatalf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestOf(t *testing.T) {
	u, err := url.Parse("https://API.example.com:8443/a/b?c=d#e")
	if err != nil {
		t.Fatal(err)
	}
	got, err := origin.Of(u)
	if diff := cmp.Diff(origin.Origin{Scheme: "https", Host: "api.example.com", Port: 8443}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// dialled returns the address that net/http dials for a URL.
func dialled(u *url.URL) (address string) {
	transport := &http.Transport{DialContext: func(_ context.Context, _, to string) (net.Conn, error) {
		address = to
		return nil, errors.New("not in a test")
	}}
	response, err := transport.RoundTrip((&http.Request{Method: "GET", URL: u, Header: http.Header{}}).WithContext(context.Background()))
	if err == nil {
		response.Body.Close()
	}
	return address
}

// FuzzParse checks that net/http dials the origin's host and port, both for the URL and for the formatted origin, and
// that a formatted origin round-trips.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"https://api.example.com", "HTTP://A.example:80", "http://[::1]:8080", "https://me@x", "https://a.b.:1",
		`http://a\b`, "http://[fe80::1%25lo]", "http://0x7f.1", "https://b%C3%BCcher.example", "https://xn--a", "http://1.2.3.4:065", "https:x", "http://a:b@c:1/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		o, err := origin.Of(u)
		if err != nil {
			if parsed, err := origin.Parse(text); err == nil {
				t.Fatalf("%q: Of returns an error, but Parse returns %s", text, parsed)
			}
			return
		}
		again, err := origin.Parse(o.String())
		if err != nil || again != o {
			t.Fatalf("the origin of %q is %s, which Parse converts to %s, %v", text, o, again, err)
		}
		want := dialled(&url.URL{Scheme: o.Scheme, Host: o.Authority()})
		host, port, err := net.SplitHostPort(want)
		if err != nil || host != o.Host || port == "" {
			t.Fatalf("net/http dials %q for the origin %s", want, o)
		}
		as := dialled(u)
		if a, err := netip.ParseAddrPort(as); err == nil {
			as = a.String() // normalize: an IPv6 address may not be in its shortest form
		}
		if !strings.EqualFold(as, want) {
			t.Fatalf("net/http dials %s for %q, but %s for its origin %s", as, text, want, o)
		}
	})
}
