// Has the editor make a file and carries it over as base64: a file itself would come over empty.
const root = window._EXTAPI_ROOT_;
const [namespace, method] = INPUT.method.split('.');
const file = await root[namespace][method](...INPUT.args);
if (!file || typeof file.arrayBuffer !== 'function') return null;
const bytes = new Uint8Array(await file.arrayBuffer());
if (bytes.length > INPUT.bytesMax) return { name: file.name, size: bytes.length, tooLarge: true };
const parts = [];
for (let at = 0; at < bytes.length; at += 0x8000) {
  parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
}
return { name: String(file.name ?? ''), size: bytes.length, base64: btoa(parts.join('')) };
