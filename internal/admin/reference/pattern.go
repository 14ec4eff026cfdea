package reference

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used: this package is linked into every host and worker, and none of them
// should compile at its start what only `client add --replace` needs.
type pattern struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

func compiledLater(text string) *pattern { return &pattern{text: text} }

func (p *pattern) get() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.text) })
	return p.compiled
}
