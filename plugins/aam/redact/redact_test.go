package redact_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
)

func TestText(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no URL", "a@b.c said: x?y=z#w", "a@b.c said: x?y=z#w"},
		{"no secrets", "see https://example.org/a/b.", "see https://example.org/a/b."},
		{"user and password", "https://user:secret@example.org/x", "https://***@example.org/x"},
		{"a token for a user", "https://secret@example.org", "https://***@example.org"},
		{"a password with an @", "https://u:sec@ret@example.org", "https://***@example.org"},
		{"a password with a slash", "https://u:sec/ret@example.org/x", "https://***@example.org/x"},
		{"a password with a blank and quotes", `https://u:sec "re't@example.org`, "https://***@example.org"},
		{"values of a query, and parts without a name", "https://e.org/?token=secret&x=&secret", "https://e.org/?token=***&x=***&***"},
		{"a fragment", "https://e.org/#secret", "https://e.org/#***"},
		{"a query of many question marks", "https://e.org/?a=secret?b=secret", "https://e.org/?a=***"},
		{"text around a URL is kept", "registry 'r' (https://u:secret@e.org/a) is gone", "registry 'r' (https://***@e.org/a) is gone"},
		{"the next line is kept", "https://e.org/?a=secret\nnext @ line", "https://e.org/?a=***\nnext @ line"},
		{"several", "https://e.org/x, ssh://u:secret@e.org and http://secret@f.org", "https://e.org/x, ssh://***@e.org and http://***@f.org"},
		{"a scope in a path is not a user", "https://e.org/@acme/x file:///srv/@team", "https://e.org/@acme/x file:///srv/@team"},
		{"a port is not a password", "http://localhost:8080/@acme http://[::1]:80/@acme", "http://localhost:8080/@acme http://[::1]:80/@acme"},
		{"a URL in a query", "https://e.org/?to=https://u:secret@f.org", "https://e.org/?to=***https://***@f.org"},
		{"a password with an @ and a slash", "https://u:sec@sec/ret@e.org/x", "https://***@e.org/x"},
		{"a password with a question mark", "https://u:sec?ret@e.org/x", "https://***@e.org/x"},
		{"a password that begins like a port", "https://u:123/secret@e.org", "https://***@e.org"},
		{"a password that looks like a URL", "https://u:a://secret@e.org", "https://***@e.org"},
		{"a token with a slash", "https://sec/ret@e.org", "https://***@e.org"},
		{"brackets do not make a host", "https://[u:sec/ret@e.org", "https://***@e.org"},
		{"an escaped colon and @", "https://u%3Asecret%40e.org/x", "https://***%40e.org/x"},
		{"escaped twice", "u%253asecret%2540e.org", "***%2540e.org"},
		{"an escaped URL", "https%3A%2F%2Fu%3Asecret%40e.org", "***%40e.org"},
		{"a URL that is truncated within its password", `key "https://u:secret" is none`, `key "https://***" is none`},
		{"a user and password of ssh", "git:secret@e.org:a/b.git is none", "***@e.org:a/b.git is none"},
		{"with slashes and @ in them", "u:s@c/r@t@e.org:a", "***@e.org:a"},
		{"below a directory", "stat /srv/p/u:secret@e.org:/x: gone", "stat /srv/p/***@e.org:/x: gone"},
		{"in quotes", `no "u:se'cret@e.org:/x", see`, `no "***@e.org:/x", see`},
		{"without a scheme", "//u:secret@e.org/x", "//***@e.org/x"},
		{"with half a scheme", "https:u:secret@e.org https:/u:secret@e.org", "***@e.org ***@e.org"},
		{"with a backslash for a slash", `https:\\u:secret@e.org`, `***@e.org`},
		{"nested schemes", "jdbc:pg://u:secret@e.org/x and u:secret://e.org/x@f.org", "***@e.org/x and ***@f.org"},
		{"with a query behind it", "jdbc:pg://u:secret@e.org/x?password=secret jdbc:pg://e.org/x?password=secret", "***@e.org/x?password=*** jdbc:pg://e.org/x?password=***"},
		{"with a query and no scheme", "u:secret@e.org:/x?t=secret#secret, see", "***@e.org:/x?t=***#*** see"},
		{"after another word", "url:u:secret@e.org,x", "***@e.org,x"},
		{"in the path of a URL", "https://e.org/to/u:secret@f.org file:///srv/u:secret@f.org:/x", "https://e.org/to/***@f.org file:///srv/***@f.org:/x"},
		{"paths with an @", "/home/a@b/c file:///home/a@b/c ./@team/x", "/home/a@b/c file:///home/a@b/c ./@team/x"},
		{"packages and their versions", "@acme/kit: needs @acme/low@^1.0.0: see 'kit@1.0.0:'", "@acme/kit: needs @acme/low@^1.0.0: see 'kit@1.0.0:'"},
		{"mail addresses", "Jane: <jane@e.org>", "Jane: <jane@e.org>"},
		{"an action in a path", "https://e.org/actions/checkout@v4", "https://e.org/actions/checkout@v4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := redact.Text(test.text)
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if again := redact.Text(got); again != got {
				t.Errorf("masking the result a second time returned %s", again)
			}
		})
	}
}

// TestURL checks that URL masks a string that is known to be a URL, and keeps more of the string than Text.
func TestURL(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"a URL", "https://u:secret@e.org/x?t=secret#secret", "https://***@e.org/x?t=***#***"},
		{"a password with a blank", "u:sec ret@e.org:/x", "***@e.org:/x"},
		{"in a path, too", "/srv/u:sec ret@e.org", "/srv/***@e.org"},
		{"a token without a password", "token@e.org:/x", "***@e.org:/x"},
		{"with slashes before it", "//token@e.org/x?t=secret", "***@e.org/x?t=***"},
		{"a query without a scheme", "e.org/x?t=secret#secret", "e.org/x?t=***#***"},
		{"a path", "/home/a@b/c#/d?", "/home/a@b/c#/d?"},
		{"a path of a URL", "file:///home/a@b/c", "file:///home/a@b/c"},
		{"a relative path", "../a@b/c", "../a@b/c"},
		{"a scope", "@team/x", "@team/x"},
		{"nothing", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := redact.URL(test.url)
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if again := redact.Text(got); again != got {
				t.Errorf("masking the result as a text returned %s", again)
			}
		})
	}
}

// TestTextTakesLinearTime checks the time that Text takes, because a registry can contain megabytes of
// attacker-controlled text.
func TestTextTakesLinearTime(t *testing.T) {
	for _, part := range []string{"a://", "a://?", "a:b@ ", "x a://b c", "%253A%2540", "a:a://b@"} {
		text := strings.Repeat(part, 1<<20/len(part))
		begin := time.Now()
		redact.Text(text)
		redact.URL(text)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("masking %s, repeated many times, took %v", part, took)
		}
	}
}

// FuzzURL checks that the result never contains the user or the password.
func FuzzURL(f *testing.F) {
	f.Add("user", "pass@word")
	f.Add("", "a/b?c#d")
	f.Add("u", "1/2 3@")
	f.Add("u.v", "12://")
	f.Add("u", "://a.b/c")
	f.Add("u", "//a.b/")
	f.Fuzz(func(t *testing.T, user, password string) {
		const secret = "S3CR3T"
		if strings.ContainsAny(user, ":/?#%\n") {
			t.Skip("another kind of URL")
		}
		for _, begin := range []string{"https://", "//", "", "https:", "/srv/"} {
			for _, whole := range []string{password + secret, secret + password + "x"} {
				url := begin + user + ":" + whole + "@example.org/x"
				shown := redact.URL(url)
				if strings.Contains(shown, secret) {
					t.Errorf("%q is masked as %q", url, shown)
				}
				if strings.ContainsAny(user+password, " \t\n\"'<>") {
					continue // the word may end within the password
				}
				if shown := redact.Text("see " + url); strings.Contains(shown, secret) {
					t.Errorf("%q within a text is masked as %q", url, shown)
				}
			}
		}
	})
}
