-- objects: since when nodes are watched, which says from where on their events are read

CREATE INDEX watches_of_nodes_idx ON objects.watches (created_at) WHERE starts_with(source_id, 'node_');
