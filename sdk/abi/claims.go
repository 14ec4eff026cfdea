package abi

// OpClaims returns which of the names are claimed by the manifests of other plugins: Claims -> Claims.
const OpClaims = "claims"

// MaxClaims is the maximum number of names and URIs in one request.
const MaxClaims = 10_000

// Claims are names of prompts and URIs of resources. A request contains the names and URIs to check, the result those
// among them that another plugin claims. Clients do not see a plugin's prompt or resource if another plugin claims its
// name.
type Claims struct {
	Prompts   []string `json:"prompts,omitempty"`
	Resources []string `json:"resources,omitempty"`
}
