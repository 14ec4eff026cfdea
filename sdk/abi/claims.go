package abi

// OpClaims reports which of the given names the manifests of other plugins claim: Claims -> Claims.
const OpClaims = "claims"

// MaxClaims is the maximum number of names and URIs in one request.
const MaxClaims = 10_000

// Claims are names of prompts and URIs of resources. A request contains the names and URIs to check. The result contains those of them
// that another plugin claims. Clients do not see a prompt or resource of a plugin if another plugin claims its name or URI.
type Claims struct {
	Prompts   []string `json:"prompts,omitempty"`
	Resources []string `json:"resources,omitempty"`
}
