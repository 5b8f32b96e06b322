-- canvas: the W3C trace context of the request that a mail comes of, which goes on in the turn that reads it
ALTER TABLE canvas.mail ADD COLUMN traceparent text;

SELECT canvas.fence_tables();
