package display

import (
	"bytes"
	"encoding/json"
)

// JSON returns the Ask as one line of JSON, for an editor or a web page. Its
// texts are safe to show as text; they must not be interpreted as markup.
func (a *Ask) JSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	if err := encoder.Encode(a); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
