package git

import (
	"context"
	"net/http"
)

// What the tests in package git_test check against the git program, piece by piece.

// ParseSettings gives a configuration file's settings as git config --list --null has them.
func ParseSettings(data []byte) ([]string, error) {
	s, err := parseSettings(data)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range s {
		line := e.section + "."
		if line == "." {
			line = ""
		}
		if e.sub != "" {
			line += e.sub + "."
		}
		line += e.key
		if !e.bare {
			line += "\n" + e.value
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// ParseIndex reads an index and gives its names.
func ParseIndex(ctx context.Context, data []byte) ([]string, error) {
	d, err := parseIndex(ctx, data)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range d.entries {
		names = append(names, e.name)
	}
	return names, nil
}

// CheckNewPath says what is wrong with a path for a commit.
func CheckNewPath(name string) error { return checkNewPath(name) }

// CheckBranch says what is wrong with a branch's name.
func CheckBranch(name string) error { return checkBranch(name) }

// RemoteURL gives the one form of a remote's URL.
func RemoteURL(text string) (string, error) { return remoteURL(text) }

// SetTransport has remotes answered without a network.
func (o *Ops) SetTransport(t http.RoundTripper) { o.remotes.client.Transport = t }
