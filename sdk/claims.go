package sdk

import "github.com/bulkhead-mcp/bulkhead/sdk/abi"

// Claims are names of prompts and URIs of resources.
type Claims = abi.Claims

// Claimed returns those of the given names and URIs that the manifests of other plugins claim. A plugin that creates prompts or resources at
// call time should check their names and URIs first, since clients never see a prompt or resource that another plugin claims. Claimed
// accepts at most abi.MaxClaims names and URIs together.
func Claimed(names Claims) (Claims, error) {
	var claimed Claims
	err := HostCall(abi.OpClaims, names, &claimed)
	return claimed, err
}
