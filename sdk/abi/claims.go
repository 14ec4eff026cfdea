package abi

// OpClaims tells which names the manifests of other plugins claim: Claims -> Claims.
const OpClaims = "claims"

// MaxClaims bounds the names and URIs of one question.
const MaxClaims = 10_000

// Claims are names of prompts and URIs of resources: asked about, or those of them that another plugin
// claims. A prompt or resource of a plugin's own that has one of these is not listed, and never asked for.
type Claims struct {
	Prompts   []string `json:"prompts,omitempty"`
	Resources []string `json:"resources,omitempty"`
}
