var e=/[\u202a-\u202e\u2066-\u2069]/g;function n(r){return r.replace(e,t=>`\\u{${t.charCodeAt(0).toString(16)}}`)}export{n as a};
