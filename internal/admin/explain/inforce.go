package explain

import "github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"

// ConfigInForce says which config a host uses, and why.
type ConfigInForce struct {
	File       string       `json:"config,omitempty"` // empty if no config is used
	By         string       `json:"config_by"`
	PassedOver []PassedOver `json:"passed_over,omitempty"`
	Ceiling    string       `json:"ceiling,omitempty"` // the file of the organisation's ceiling; empty if there is none
}

// PassedOver is an existing config that is not used because another one takes precedence.
type PassedOver struct {
	File string `json:"file"`
	By   string `json:"by"` // why the config would be used if it took precedence
}

// FindConfigInForce returns which config a host with these options uses.
func FindConfigInForce(o discovery.Options) (ConfigInForce, error) {
	source, err := discovery.FindConfig(o)
	if err != nil {
		return ConfigInForce{}, err
	}
	c := ConfigInForce{File: source.File, By: source.By.String()}
	switch {
	case o.NoConfig:
		c = ConfigInForce{By: "--no-config"}
	case source.By == discovery.ByNothing:
		c.File = ""
	}
	ceiling, err := discovery.FindCeiling(o.System)
	if err != nil {
		return c, err
	}
	if ceiling != nil {
		c.Ceiling = ceiling.File
	}
	others, err := discovery.PassedOver(o)
	for _, other := range others {
		c.PassedOver = append(c.PassedOver, PassedOver{File: other.File, By: other.By.String()})
	}
	return c, err
}
