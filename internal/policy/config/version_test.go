package config_test

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

func TestWants(t *testing.T) {
	for _, c := range []struct {
		wanted   string
		yes, not []string
	}{
		{"^1.4.2", []string{"1.4.3", "1.5.0", "1.10.0"}, []string{"1.4.2", "1.4.1", "0.9.0", "2.0.0", "1.5.0-rc.1", "1.4.2+build"}},
		{"~1.4.2", []string{"1.4.3", "1.4.10"}, []string{"1.4.2", "1.5.0", "2.0.0", "1.4.3-rc.1"}},
		{"1.4.2", nil, []string{"1.4.3", "1.5.0", "2.0.0"}},
		{"", nil, []string{"1.0.0"}},
		{"^0.4.2", []string{"0.4.3"}, []string{"0.5.0", "1.0.0"}},
		{"~0.4.2", []string{"0.4.3"}, []string{"0.5.0"}},
		{"^0.0.2", nil, []string{"0.0.3", "0.1.0"}},
		{"^1.4.0-rc.1", []string{"1.4.0-rc.2", "1.4.0", "1.4.1", "1.5.0"}, []string{"1.4.0-beta", "1.5.0-rc.1"}},
		{"^0.0.2-rc.1", []string{"0.0.2-rc.2", "0.0.2"}, []string{"0.0.3"}},
	} {
		for _, version := range c.yes {
			if !config.Wants(c.wanted, version) {
				t.Errorf("%s does not want %s", c.wanted, version)
			}
		}
		for _, version := range c.not {
			if config.Wants(c.wanted, version) {
				t.Errorf("%s wants %s", c.wanted, version)
			}
		}
	}
}
